"""Int8 models: smoothed where it helps, measured on held-out text, and rejected if their vectors changed too much."""
