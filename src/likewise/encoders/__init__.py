"""Encoders: tokens to layers. Each is a module whose call is an iterator of hidden states, first to last."""
