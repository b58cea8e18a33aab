"""What a training run writes: console output, log, curve, checkpoints, record and model card."""
