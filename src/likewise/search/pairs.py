"""The most similar pairs among N vectors: all N(N−1)/2 pairs are compared, and the best are kept."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..arrays.similarity import check_finite_rows, number_table, unit, unit_cosine
from ..errors import BadInput
from ..runtime.arguments import real_number, whole_number

BLOCK = 2048  # rows and columns of one tile of the matrix: 16 MB of scores in float32


class ScoredPair(NamedTuple):
    """Two rows, i < j, and their cosine."""

    i: int
    j: int
    score: float


def closest_pairs(
    vectors: Float[np.ndarray, "N D"], k: int, *, below: float = 2.0, above: float = -1.0
) -> list[ScoredPair]:
    """The k pairs of greatest cosine that is less than `below` and at least `above`, best first.

    The cosine of exact copies is 1, so `below=1` leaves them out.

    Raises:
        BadInput: a row holds a number that is NaN or infinite, or an option is out of bounds.
    """
    k, below = whole_number("k", k), real_number("below", below)
    if not below > -1:
        raise BadInput(f"expected pairs below a cosine of more than -1; got below={below}")
    if not above < below:
        raise BadInput(f"expected above to be less than below; got above={above}, below={below}")
    vectors = number_table(vectors, "vectors")
    if vectors.ndim != 2:
        raise BadInput(f"expected a table of vectors (N, D), a row a text; got the shape {vectors.shape}")
    check_finite_rows(vectors, "vectors")
    vectors = unit(vectors)
    kept = np.empty((0, 2), np.int64)
    scores = np.empty(0, vectors.dtype)
    starts = range(0, len(vectors), BLOCK)
    for top, left in ((top, left) for top in starts for left in starts if top <= left):
        tile = unit_cosine(vectors[top : top + BLOCK], vectors[left : left + BLOCK])
        expected = (tile < below) & (tile >= above)
        if len(scores) == k:
            expected &= tile >= scores[-1]
        if top == left:
            expected = np.triu(expected, 1)
        rows, columns = np.nonzero(_greatest(tile, expected, k))
        if len(rows):
            kept = np.concatenate([kept, np.stack([rows + top, columns + left], 1)])
            scores = np.concatenate([scores, tile[rows, columns]])
            order = np.lexsort((kept[:, 0], -scores))[:k]  # of one row the earlier columns came first
            kept, scores = kept[order], scores[order]
    return [ScoredPair(int(i), int(j), float(s)) for (i, j), s in zip(kept, scores, strict=True)]


def _greatest(tile: Float[np.ndarray, "m n"], expected: Bool[np.ndarray, "m n"], k: int) -> Bool[np.ndarray, "m n"]:
    """The positions, among those expected, of the k greatest numbers and of any equal to the last of these."""
    found = tile[expected]
    return expected if len(found) <= k else expected & (tile >= np.partition(found, -k)[-k])
