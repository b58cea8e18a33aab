"""A cross-encoder learns similarity scores as probabilities."""

import sys

from datasets import load_dataset
from sentence_transformers import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.evaluation import CrossEncoderCorrelationEvaluator
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss

folder, output, data = sys.argv[1:4]
rows = load_dataset("parquet", data_files=f"{data}/stsb/train.parquet", split="train").select(range(400))
rows = rows.select_columns(["sentence1", "sentence2", "score"])
rows = rows.map(lambda row: {"score": row["score"] / 5})

dev, rows = rows.select(range(320, 400)), rows.select(range(320))
model = CrossEncoder(folder, num_labels=1, device="cpu")
evaluator = CrossEncoderCorrelationEvaluator(
    list(zip(dev["sentence1"], dev["sentence2"], strict=True)), dev["score"], name="dev"
)
args = CrossEncoderTrainingArguments(
    output_dir=output,
    num_train_epochs=3,
    per_device_train_batch_size=16,
    warmup_ratio=0.1,
    logging_steps=1,
    eval_strategy="epoch",
    save_strategy="no",
    use_cpu=True,
    disable_tqdm=True,
)
trainer = CrossEncoderTrainer(
    model=model,
    args=args,
    train_dataset=rows,
    eval_dataset=dev,
    loss=BinaryCrossEntropyLoss(model),
    evaluator=evaluator,
)
trainer.train()
model.save_pretrained(f"{output}/final")
