"""Search for the nearest vectors and the most similar pairs."""

from ..native.scanning import Hits
from .bitext import mine_bitext
from .exact import search
from .pairs import ScoredPair, closest_pairs, nearest_others, pairs_above
from .quantized import search_quantized

__all__ = [
    "Hits",
    "ScoredPair",
    "closest_pairs",
    "mine_bitext",
    "nearest_others",
    "pairs_above",
    "search",
    "search_quantized",
]
