"""The most similar pairs among N vectors: all N(N−1)/2 of them compared, a few kept."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..errors import BadInput
from ..similarity import cosine

BLOCK = 2048


class Pair(NamedTuple):
    """Two rows, i < j, and their cosine."""

    i: int
    j: int
    score: float


def closest_pairs(vectors: Float[np.ndarray, "N D"], k: int, *, below: float = 2.0) -> list[Pair]:
    """The k pairs of greatest cosine that is less than `below`, best first (leave out exact duplicates by `below`)."""
    if k < 1:
        raise BadInput(f"wanted k of 1 or more pairs; got {k}")
    kept = np.empty((0, 2), np.int64)
    scores = np.empty(0, np.float32)
    for start in range(0, len(vectors), BLOCK):
        block = cosine(vectors[start : start + BLOCK], vectors[start:])
        least = scores[-1] if len(scores) == k else -np.inf
        rows, columns = np.nonzero((block > least) & (block < below))
        later = columns > rows  # the block begins at its own diagonal
        found, rows, columns = block[rows[later], columns[later]], rows[later], columns[later]
        if len(found) > k:
            few = np.argpartition(-found, k - 1)[:k]
            found, rows, columns = found[few], rows[few], columns[few]
        kept = np.concatenate([kept, np.stack([rows, columns], 1) + start])
        scores = np.concatenate([scores, found])
        order = np.lexsort((kept[:, 1], kept[:, 0], -scores))[:k]
        kept, scores = kept[order], scores[order]
    return [Pair(int(i), int(j), float(s)) for (i, j), s in zip(kept, scores, strict=True)]
