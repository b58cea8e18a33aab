"""The most similar pairs among N vectors: compare all N(N−1)/2 pairs, and keep the best, or all above a threshold."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..array_types import Bool, Float, Int, Shaped
from ..arrays.similarity import check_finite_rows, number_table, unit, unit_cosine
from ..errors import BadInput
from ..native import scanning
from ..native.scanning import Hits
from ..runtime.arguments import real_number, whole_number
from ..runtime.progress import Progress, show_progress
from .exact import checked_threads, is_scannable, search


class PairColumns(NamedTuple):
    i: Int[np.ndarray, " P"]
    j: Int[np.ndarray, " P"]
    scores: Float[np.ndarray, " P"]

    def first(self, k: int | None) -> "PairColumns":
        return PairColumns(*(column[:k] for column in self))


def as_columns(pairs: Sequence[tuple[int, int, float]]) -> PairColumns:
    i, j = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return PairColumns(i, j, np.array([pair[2] for pair in pairs], np.float32))


def best_first(parts: Iterable[PairColumns]) -> PairColumns:
    """All pairs, best first; in a tie, the earlier pair comes first."""
    i, j, scores = (np.concatenate(columns) for columns in zip(as_columns(()), *parts, strict=True))
    order = np.argsort(-scores, kind="stable")
    return PairColumns(i[order], j[order], scores[order])


def of_neighbours(parts: Iterable[Hits]) -> PairColumns:
    """Every pair of a row and one of its neighbours, in row order."""
    found = [as_columns(())]
    start = 0
    for hits in parts:
        rows = np.arange(start, start := start + len(hits.indices))
        found.append(PairColumns(np.repeat(rows, hits.indices.shape[1]), hits.indices.ravel(), hits.scores.ravel()))
    return PairColumns(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


BLOCK = 2048  # rows and columns of one tile of the matrix: 16 MB of scores in float32


class ScoredPair(NamedTuple):
    """Two rows, i < j, and their cosine."""

    i: int
    j: int
    score: float


def pairs_above(
    vectors: Shaped[np.ndarray, "N D"],
    threshold: float,
    *,
    threads: int | None = None,
    show_progress_bar: Progress = False,
) -> Iterator[PairColumns]:
    """All pairs i < j with a cosine of at least `threshold`, sorted by i and j, one block of rows i at a time.

    Vectors may be memory-mapped from a file larger than memory: only one block of rows and its pairs are held in
    memory at a time. With the compiled library, the result does not depend on the number of threads.

    Raises:
        BadInput: a row contains NaN or infinity, or the threshold is not between -1 and 1.
    """
    vectors, threshold = checked_vectors(vectors), checked_threshold(threshold)
    return _pairs_above(vectors, threshold, checked_threads(threads), show_progress_bar)


def nearest_others(
    vectors: Shaped[np.ndarray, "N D"], k: int, *, threads: int | None = None, show_progress_bar: Progress = False
) -> Iterator[Hits]:
    """For each row, the k other rows with the greatest cosine, best first, one block of rows at a time."""
    vectors, k = checked_vectors(vectors), whole_number("k", k)
    return _nearest_others(vectors, k, threads, show_progress_bar)


def checked_vectors(vectors: object, what: str = "vectors") -> Shaped[np.ndarray, "N D"]:
    """The vectors as a 2-D array; raises an error if its rows cannot be compared."""
    table = number_table(vectors, what)
    if table.ndim != 2:
        raise BadInput(f"expected a 2-D array of vectors (N, D), one row per text; got shape {table.shape}")
    check_finite_rows(table, what)
    return table


def checked_threshold(threshold: float) -> float:
    if not -1 <= (number := real_number("threshold", threshold)) <= 1:
        raise BadInput(f"threshold is {number}; expected a cosine from -1 to 1")
    return number


def _pairs_above(
    vectors: Shaped[np.ndarray, "N D"], threshold: float, threads: int, show_progress_bar: Progress
) -> Iterator[PairColumns]:
    compiled = is_scannable(vectors, vectors)
    with show_progress(show_progress_bar, len(vectors)) as advance:
        for start in range(0, len(vectors), BLOCK):
            rows = unit(vectors[start : start + BLOCK])
            if compiled:
                yield PairColumns(*scanning.later_rows_above(rows, vectors, start, threshold, threads))
            else:
                yield _tiles_above(rows, vectors, start, threshold)
            advance(len(rows), 0)


def _tiles_above(
    rows: Float[np.ndarray, "n D"], vectors: Shaped[np.ndarray, "N D"], start: int, threshold: float
) -> PairColumns:
    """Pairs of one of these rows (`rows[0]` is row `start` of the vectors) and any later row, computed by NumPy."""
    found = []
    for left in range(start, len(vectors), BLOCK):
        tile = unit_cosine(rows, unit(vectors[left : left + BLOCK]))
        expected = tile >= threshold
        i, j = np.nonzero(np.triu(expected, 1) if left == start else expected)
        found.append((i + start, j + left, tile[i, j].astype(np.float32, copy=False)))
    i, j, scores = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.lexsort((j, i))
    return PairColumns(i[order], j[order], scores[order])


def _nearest_others(
    vectors: Shaped[np.ndarray, "N D"], k: int, threads: int | None, show_progress_bar: Progress
) -> Iterator[Hits]:
    with show_progress(show_progress_bar, len(vectors)) as advance:
        for start in range(0, len(vectors), BLOCK):
            rows = vectors[start : start + BLOCK]
            yield without_own(search(rows, vectors, k + 1, threads=threads), start)
            advance(len(rows), 0)


def without_own(hits: Hits, start: int) -> Hits:
    """Drop each row's match with itself, for rows that were searched among themselves, starting with row `start`.

    If copies of a row crowd it out of its own hits, the last hit is dropped instead.
    """
    own = hits.indices == np.arange(start, start + len(hits.indices))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = len(own), own.shape[1] - 1
    return Hits(hits.indices[~own].reshape(shape), hits.scores[~own].reshape(shape))


def closest_pairs(
    vectors: Float[np.ndarray, "N D"], k: int, *, below: float = 2.0, above: float = -1.0
) -> list[ScoredPair]:
    """The k pairs with the greatest cosine in [`above`, `below`), best first.

    Exact copies have a cosine of 1, so `below=1` excludes them.
    """
    k, below = whole_number("k", k), real_number("below", below)
    if not below > -1:
        raise BadInput(f"expected below to be greater than -1; got below={below}")
    if not above < below:
        raise BadInput(f"expected above to be less than below; got above={above}, below={below}")
    vectors = checked_vectors(vectors)
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
            order = np.lexsort((kept[:, 0], -scores))[:k]  # within a row, earlier columns come first
            kept, scores = kept[order], scores[order]
    return [ScoredPair(int(i), int(j), float(s)) for (i, j), s in zip(kept, scores, strict=True)]


def _greatest(tile: Float[np.ndarray, "m n"], expected: Bool[np.ndarray, "m n"], k: int) -> Bool[np.ndarray, "m n"]:
    """The `expected` positions whose values are among the k greatest of them, or tied with the k-th."""
    found = tile[expected]
    return expected if len(found) <= k else expected & (tile >= np.partition(found, -k)[-k])
