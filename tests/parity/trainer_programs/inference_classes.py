"""Natural language inference with a classifier over both vectors."""

import sys

import torch
from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses

folder, output, data = sys.argv[1:4]
rows = load_dataset("parquet", data_files=f"{data}/nli/train.parquet", split="train").select(range(600))
rows = rows.select_columns(["sentence1", "sentence2", "label"])
numbers = {"contradiction": 0, "entailment": 1, "neutral": 2}
labels = [numbers[label] for label in rows["label"]]
rows = rows.remove_columns("label").add_column("label", labels)

model = SentenceTransformer(folder, device="cpu")
args = SentenceTransformerTrainingArguments(
    output_dir=output,
    max_steps=50,
    per_device_train_batch_size=16,
    lr_scheduler_type="constant_with_warmup",
    warmup_steps=0.1,
    logging_steps=1,
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
)
torch.manual_seed(1)
loss = losses.SoftmaxLoss(model, model.get_embedding_dimension(), num_labels=3)
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=rows, loss=loss)
trainer.train()
