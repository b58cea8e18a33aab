"""Near duplicates: find rows that repeat an earlier row, without comparing any pair twice."""

import numpy as np

from ..array_types import Float, Int
from ..arrays.similarity import unit, unit_cosine
from ..runtime.progress import Progress, show_progress
from ..search.pairs import checked_threshold, checked_vectors

BLOCK = 2048  # rows compared at a time


def near_duplicates(
    vectors: Float[np.ndarray, "N D"], *, threshold: float = 0.95, show_progress_bar: Progress = None
) -> Int[np.ndarray, " N"]:
    """For each row, the row that represents it; the rows that represent themselves are the ones to keep.

    In the given order, a row joins the nearest earlier representative if their cosine is at least `threshold`;
    otherwise, it becomes a representative itself. So every row is within the threshold of its representative (there are
    no chains of neighbours), but no two representatives are this close to each other. `threshold=1` finds exact copies.
    """
    threshold, vectors = checked_threshold(threshold), unit(checked_vectors(vectors))
    representative = np.arange(len(vectors))
    with show_progress(show_progress_bar, len(vectors)) as advance:
        for start in range(0, len(vectors), BLOCK):
            stop = min(start + BLOCK, len(vectors))
            _represent(vectors, representative, start, stop, threshold)
            advance(stop - start, 0)
    return representative


def _represent(
    vectors: Float[np.ndarray, "N D"], representative: Int[np.ndarray, " N"], start: int, stop: int, threshold: float
) -> None:
    """Set the representatives of rows `start` to `stop`; those of all earlier rows must already be set."""
    nearest, scores = _nearest_representative(vectors, representative, start, stop)
    within = unit_cosine(vectors[start:stop], vectors[start:stop])
    for row in range(stop - start):
        near = np.flatnonzero(within[row, :row] >= threshold)
        candidates = near[representative[start + near] == start + near]  # those that represent themselves
        best = candidates[np.argmax(within[row, candidates])] if len(candidates) else row
        if len(candidates) and within[row, best] > scores[row]:
            representative[start + row] = start + best
        elif scores[row] >= threshold:
            representative[start + row] = nearest[row]


def _nearest_representative(
    vectors: Float[np.ndarray, "N D"], representative: Int[np.ndarray, " N"], start: int, stop: int
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """For rows `start` to `stop`: the nearest representative before `start`, and its cosine; -2 if there is none."""
    nearest = np.zeros(stop - start, np.int64)
    scores = np.full(stop - start, -2, vectors.dtype)
    kept = np.flatnonzero(representative[:start] == np.arange(start))
    for first in range(0, len(kept), BLOCK):
        some = kept[first : first + BLOCK]
        tile = unit_cosine(vectors[start:stop], vectors[some])
        best = tile.argmax(1)
        score = tile[np.arange(len(tile)), best]
        nearer = score > scores
        nearest[nearer], scores[nearer] = some[best[nearer]], score[nearer]
    return nearest, scores
