"""Rerankers score two texts, read jointly (cross-encoder) or encoded separately first (poly-encoder)."""

from typing import TYPE_CHECKING

from ..runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from .cross_encoder import CrossEncoder
    from .poly_encoder import PolyEncoder
    from .reranker import Reranker

__all__ = ["CrossEncoder", "PolyEncoder", "Reranker"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"cross_encoder": ["CrossEncoder"], "poly_encoder": ["PolyEncoder"], "reranker": ["Reranker"]},
    needs_torch=["CrossEncoder", "PolyEncoder"],
)
