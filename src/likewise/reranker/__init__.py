"""Rerankers: two texts to one score, read together (cross-encoder), or apart until late (poly-encoder)."""

from .cross_encoder import CrossEncoder
from .poly_encoder import PolyEncoder
from .reranker import Reranker

__all__ = ["CrossEncoder", "PolyEncoder", "Reranker"]
