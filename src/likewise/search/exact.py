"""Exact search: every query against every vector, a block of the corpus at a time."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..errors import BadInput
from ..similarity import SIMILARITIES

BLOCK = 8192  # rows of the corpus in one product


class Hits(NamedTuple):
    """The k nearest of each query, best first: which rows of the corpus, and how similar."""

    indices: Int[np.ndarray, "Q k"]
    scores: Float[np.ndarray, "Q k"]


def search(
    queries: Float[np.ndarray, "Q D"], corpus: Float[np.ndarray, "N D"], k: int = 10, *, metric: str = "cosine"
) -> Hits:
    """The k most similar rows of the corpus for each query; fewer if the corpus is smaller. Ties: the earlier row."""
    if k < 1 or metric not in SIMILARITIES:
        raise BadInput(f"wanted k of 1 or more and one of {', '.join(SIMILARITIES)}; got k={k}, metric={metric!r}")
    best = Hits(np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32))
    for start in range(0, len(corpus), BLOCK):
        scores = SIMILARITIES[metric](queries, corpus[start : start + BLOCK]).astype(np.float32, copy=False)
        indices = np.broadcast_to(np.arange(start, start + scores.shape[1]), scores.shape)
        best = _best(np.concatenate([best.indices, indices], 1), np.concatenate([best.scores, scores], 1), k)
    return best


def _best(indices: Int[np.ndarray, "Q n"], scores: Float[np.ndarray, "Q n"], k: int) -> Hits:
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Hits(np.take_along_axis(indices, order, 1), np.take_along_axis(scores, order, 1))
