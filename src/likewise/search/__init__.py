"""Finding the nearest vectors, and the nearest pairs."""

from .exact import Hits, search
from .pairs import Pair, closest_pairs

__all__ = ["Hits", "Pair", "closest_pairs", "search"]
