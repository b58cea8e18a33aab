"""A student learns the vectors of a teacher."""

import sys

from datasets import Dataset, load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses

folder, output, data = sys.argv[1:4]
rows = load_dataset("parquet", data_files=f"{data}/stsb/train.parquet", split="train").select(range(400))
texts = list(dict.fromkeys([*rows["sentence1"], *rows["sentence2"]]))
teacher = SentenceTransformer(folder, device="cpu")
teacher.max_seq_length = 128
vectors = teacher.encode(texts, prompt="a different view: ")
rows = Dataset.from_dict({"sentence": texts, "label": vectors.tolist()})

model = SentenceTransformer(folder, device="cpu")
model.max_seq_length = 16
args = SentenceTransformerTrainingArguments(
    output_dir=output,
    max_steps=50,
    per_device_train_batch_size=16,
    logging_steps=1,
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
)
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=rows, loss=losses.MSELoss(model))
trainer.train()
