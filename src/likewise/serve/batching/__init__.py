"""Requests wait in a queue per model, and one thread per model computes them in batches of tokens, fairly."""
