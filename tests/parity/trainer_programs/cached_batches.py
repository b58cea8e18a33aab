"""A large batch that is encoded in small parts."""

import sys

from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses

folder, output, data = sys.argv[1:4]
rows = load_dataset("parquet", data_files=f"{data}/nli/triplets.parquet", split="train").select(range(600))
rows = rows.select_columns(["anchor", "positive", "negative"])

model = SentenceTransformer(folder, device="cpu")
args = SentenceTransformerTrainingArguments(
    output_dir=output,
    num_train_epochs=3,
    per_device_train_batch_size=64,
    logging_steps=1,
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
)
loss = losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=16)
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=rows, loss=loss)
trainer.train()
