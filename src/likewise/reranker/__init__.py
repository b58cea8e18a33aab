"""Rerankers: two texts to one score, read jointly (cross-encoder) or encoded separately first (poly-encoder)."""

from .cross_encoder import CrossEncoder
from .poly_encoder import PolyEncoder
from .reranker import Reranker

__all__ = ["CrossEncoder", "PolyEncoder", "Reranker"]
