"""The command line: one file per verb, grouped by what the verb operates on."""

from .main import main

__all__ = ["main"]
