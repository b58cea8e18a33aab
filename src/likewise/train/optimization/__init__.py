"""The optimizer, the learning-rate schedule, weight averaging (EMA), LoRA and freezing."""
