"""Int8 models: smoothed, measured on held-out text, and rejected if their vectors changed too much."""
