"""Hits: what a search returns, and how those of several blocks of a corpus become one."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Hits(NamedTuple):
    """The k nearest of each query, best first: rows of the corpus and their similarities."""

    indices: Int[np.ndarray, "Q k"]
    scores: Float[np.ndarray, "Q k"]


def no_hits(queries: int) -> Hits:
    """The hits of `queries` queries in an empty corpus: none."""
    return Hits(np.empty((queries, 0), np.int64), np.empty((queries, 0), np.float32))


def merged(parts: Iterable[Hits], k: int) -> Hits:
    """The k best of all, best first; of equal scores those of earlier parts."""
    indices, scores = (np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Hits(np.take_along_axis(indices, order, 1), np.take_along_axis(scores, order, 1))
