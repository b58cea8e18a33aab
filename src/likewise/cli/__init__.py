"""The command line: one file a verb."""

from .main import main

__all__ = ["main"]
