"""Named data sets for training and evaluation: catalogue, columns, downloads, splits and leaks."""
