"""Finding structure in many vectors: the most similar pairs, and groups."""

from .clusters import communities
from .pairs import Pair, closest_pairs

__all__ = ["Pair", "closest_pairs", "communities"]
