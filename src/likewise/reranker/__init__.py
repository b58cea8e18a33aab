"""Rerankers: two texts to one score, read together (cross-encoder), or apart until late (poly-encoder)."""

from .cross import CrossEncoder
from .poly import PolyEncoder
from .reranker import Reranker

__all__ = ["CrossEncoder", "PolyEncoder", "Reranker"]
