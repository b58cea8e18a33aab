"""Training programs written for sentence-transformers: their arguments, data, order of batches, callbacks, trainers."""
