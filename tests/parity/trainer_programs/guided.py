"""Hard negatives, a guide that tells false ones, prompts by column, and other learning rates for some weights."""

import sys

from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses

folder, output, data = sys.argv[1:4]
rows = load_dataset("parquet", data_files=f"{data}/nli/triplets.parquet", split="train").select(range(160))
rows = rows.select_columns(["anchor", "positive", "negative"])

model = SentenceTransformer(folder, device="cpu")
guide = SentenceTransformer(folder, device="cpu")
args = SentenceTransformerTrainingArguments(
    output_dir=output,
    num_train_epochs=1,
    per_device_train_batch_size=8,
    learning_rate=3e-5,
    learning_rate_mapping={r"embeddings": 1e-3, r"layer\.1\.attention": 2e-4, r"LayerNorm": 1e-4},
    prompts={"anchor": "query: ", "positive": "passage: "},
    weight_decay=0.01,
    logging_steps=1,
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
)
loss = losses.GISTEmbedLoss(model, guide, temperature=0.05)
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=rows, loss=loss)
trainer.train()
