"""Pairs with hard negatives; no text occurs twice in a batch; a cosine schedule."""

import sys

from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.training_args import BatchSamplers

folder, output, data = sys.argv[1:4]
rows = load_dataset("parquet", data_files=f"{data}/nli/triplets.parquet", split="train").select(range(600))
rows = rows.select_columns(["anchor", "positive", "negative"])

model = SentenceTransformer(folder, device="cpu")
args = SentenceTransformerTrainingArguments(
    output_dir=output,
    max_steps=50,
    per_device_train_batch_size=8,
    learning_rate=3e-5,
    warmup_steps=5,
    lr_scheduler_type="cosine",
    weight_decay=0.01,
    batch_sampler=BatchSamplers.NO_DUPLICATES,
    logging_steps=1,
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
)
loss = losses.MultipleNegativesRankingLoss(model, scale=20.0)
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=rows, loss=loss)
trainer.train()
