"""Pairs as columns: a million of them are three arrays, and not a million objects."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..native.scanning import Hits


class PairColumns(NamedTuple):
    """Pairs of rows and their scores."""

    i: Int[np.ndarray, " P"]
    j: Int[np.ndarray, " P"]
    scores: Float[np.ndarray, " P"]

    def first(self, k: int | None) -> "PairColumns":
        """The first k of them, or all."""
        return PairColumns(*(column[:k] for column in self))


def as_columns(pairs: Sequence[tuple[int, int, float]]) -> PairColumns:
    """The same pairs, as columns."""
    i, j = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return PairColumns(i, j, np.array([pair[2] for pair in pairs], np.float32))


def best_first(parts: Iterable[PairColumns]) -> PairColumns:
    """All pairs, best first; of equal scores the earlier."""
    i, j, scores = (np.concatenate(columns) for columns in zip(as_columns(()), *parts, strict=True))
    order = np.argsort(-scores, kind="stable")
    return PairColumns(i[order], j[order], scores[order])


def of_neighbours(parts: Iterable[Hits]) -> PairColumns:
    """Every row with each of its neighbours, by row."""
    found = [as_columns(())]
    start = 0
    for hits in parts:
        rows = np.arange(start, start := start + len(hits.indices))
        found.append(PairColumns(np.repeat(rows, hits.indices.shape[1]), hits.indices.ravel(), hits.scores.ravel()))
    return PairColumns(*(np.concatenate(columns) for columns in zip(*found, strict=True)))
