"""Encoders: modules that map tokens to layers, returned as an iterator of hidden states from first to last."""
