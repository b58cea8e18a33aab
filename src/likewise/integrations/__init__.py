"""Adapters for other libraries, one per file."""
