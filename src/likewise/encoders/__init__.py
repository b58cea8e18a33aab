"""Encoders: from tokens to layers. Each is a module whose call returns an iterator of hidden states, first to last."""
