"""Pairs that are paraphrases or not; the best of the saved models is kept, and training stops early."""

import sys

from datasets import load_dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.evaluation import BinaryClassificationEvaluator
from transformers import EarlyStoppingCallback

folder, output, data = sys.argv[1:4]
rows = load_dataset("parquet", data_files=f"{data}/mrpc/train.parquet", split="train").select(range(400))
rows = rows.select_columns(["sentence1", "sentence2", "label"])

dev, rows = rows.select(range(300, 400)), rows.select(range(300))
model = SentenceTransformer(folder, device="cpu")
args = SentenceTransformerTrainingArguments(
    output_dir=output,
    num_train_epochs=3,
    per_device_train_batch_size=16,
    logging_steps=1,
    eval_strategy="steps",
    eval_steps=10,
    save_strategy="steps",
    save_steps=10,
    save_total_limit=2,
    load_best_model_at_end=True,
    metric_for_best_model="eval_mrpc_cosine_ap",
    use_cpu=True,
    disable_tqdm=True,
)
trainer = SentenceTransformerTrainer(
    model=model,
    args=args,
    train_dataset=rows,
    loss=losses.OnlineContrastiveLoss(model),
    evaluator=BinaryClassificationEvaluator(dev["sentence1"], dev["sentence2"], dev["label"], name="mrpc"),
    callbacks=[EarlyStoppingCallback(early_stopping_patience=4)],
)
trainer.train()
trainer.save_model(f"{output}/final")
