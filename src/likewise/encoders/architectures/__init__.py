"""Encoder architectures, one per file; FAMILIES maps the configurations of model folders to them."""
