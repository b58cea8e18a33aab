"""Adapters to other libraries, a file each."""
