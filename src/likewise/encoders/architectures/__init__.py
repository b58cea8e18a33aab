"""Encoder architectures, one per file; FAMILIES maps the config.json of model folders to them."""
