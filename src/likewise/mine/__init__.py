"""Finding structure in many vectors: the most similar pairs, and groups."""

from .clusters import communities
from .pairs import Pair, pairs

__all__ = ["Pair", "communities", "pairs"]
