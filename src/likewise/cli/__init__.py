"""The command line: one file per verb, in rooms by what they work on."""

from .main import main

__all__ = ["main"]
