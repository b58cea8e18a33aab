"""Training data: rows, columns, batches and their order."""
