"""Regression of similarity scores, with a loss and an evaluator on held-out rows."""

import sys

from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator

folder, output, data = sys.argv[1:4]
rows = load_dataset("parquet", data_files=f"{data}/stsb/train.parquet", split="train").select(range(400))
rows = rows.select_columns(["sentence1", "sentence2", "score"])
rows = rows.map(lambda row: {"score": row["score"] / 5})

dev, rows = rows.select(range(320, 400)), rows.select(range(320))
model = SentenceTransformer(folder, device="cpu")
args = SentenceTransformerTrainingArguments(
    output_dir=output,
    num_train_epochs=3,
    per_device_train_batch_size=16,
    warmup_ratio=0.1,
    logging_steps=1,
    eval_strategy="steps",
    eval_steps=20,
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
)
evaluator = EmbeddingSimilarityEvaluator(dev["sentence1"], dev["sentence2"], dev["score"], name="dev")
loss = losses.CosineSimilarityLoss(model)
trainer = SentenceTransformerTrainer(model, args, rows, dev, loss, evaluator)
trainer.train()
model.save_pretrained(f"{output}/final")
