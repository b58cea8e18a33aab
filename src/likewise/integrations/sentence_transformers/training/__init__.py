"""Runs training programs written for sentence-transformers: arguments, data, batch order, callbacks, trainers."""
