"""Finding the nearest vectors, and the nearest pairs."""

from .exact import Hits, search
from .pairs import ScoredPair, closest_pairs

__all__ = ["Hits", "ScoredPair", "closest_pairs", "search"]
