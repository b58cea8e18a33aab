"""Finding structure in many vectors: the most similar pairs, and groups."""

from ..search import Pair, closest_pairs
from .clusters import communities

__all__ = ["Pair", "closest_pairs", "communities"]
