"""The command line: one file per verb, grouped by what the verbs work on."""

from .main import main

__all__ = ["main"]
