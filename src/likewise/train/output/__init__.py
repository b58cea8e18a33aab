"""What a training run writes: console, log, curve, checkpoints, record and model card."""
