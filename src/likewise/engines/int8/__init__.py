"""Int8 models: smoothed if that helps, measured on held-out text, and rejected if their vectors changed too much."""
