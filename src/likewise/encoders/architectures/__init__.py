"""Encoder architectures, a file each; FAMILIES maps the configurations of model folders to them."""
