"""Vectors that can be cut, trained by the order of similarity scores; gradients of two batches make a step."""

import sys

from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses

folder, output, data = sys.argv[1:4]
rows = load_dataset("parquet", data_files=f"{data}/stsb/train.parquet", split="train").select(range(400))
rows = rows.select_columns(["sentence1", "sentence2", "score"])
rows = rows.map(lambda row: {"score": row["score"] / 5})

model = SentenceTransformer(folder, device="cpu")
args = SentenceTransformerTrainingArguments(
    output_dir=output,
    num_train_epochs=3,
    per_device_train_batch_size=12,
    gradient_accumulation_steps=2,
    dataloader_drop_last=True,
    logging_steps=1,
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
)
loss = losses.MatryoshkaLoss(model, losses.CoSENTLoss(model), matryoshka_dims=[128, 64, 32])
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=rows, loss=loss)
trainer.train()
