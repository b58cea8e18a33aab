"""Finding the nearest vectors, and the nearest pairs."""

from .exact import search
from .hits import Hits
from .pairs import ScoredPair, closest_pairs
from .quantized import search_quantized

__all__ = ["Hits", "ScoredPair", "closest_pairs", "search", "search_quantized"]
