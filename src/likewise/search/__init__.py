"""Finding the nearest vectors."""

from .exact import Hits, search

__all__ = ["Hits", "search"]
