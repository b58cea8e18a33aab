"""Two data sets with a loss each, mixed in proportion to their sizes."""

import sys

from datasets import DatasetDict, load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.training_args import MultiDatasetBatchSamplers

folder, output, data = sys.argv[1:4]
triplets = load_dataset("parquet", data_files=f"{data}/nli/triplets.parquet", split="train").select(range(600))
triplets = triplets.select_columns(["anchor", "positive", "negative"])
rows = load_dataset("parquet", data_files=f"{data}/stsb/train.parquet", split="train").select(range(400))
rows = rows.select_columns(["sentence1", "sentence2", "score"])
rows = rows.map(lambda row: {"score": row["score"] / 5})

model = SentenceTransformer(folder, device="cpu")
args = SentenceTransformerTrainingArguments(
    output_dir=output,
    num_train_epochs=1,
    per_device_train_batch_size=16,
    logging_steps=1,
    save_strategy="no",
    multi_dataset_batch_sampler=MultiDatasetBatchSamplers.PROPORTIONAL,
    use_cpu=True,
    disable_tqdm=True,
)
trainer = SentenceTransformerTrainer(
    model=model,
    args=args,
    train_dataset=DatasetDict({"nli": triplets, "stsb": rows}),
    loss={"nli": losses.MultipleNegativesRankingLoss(model), "stsb": losses.AnglELoss(model)},
)
trainer.train()
