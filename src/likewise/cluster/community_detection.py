"""Community detection: find dense groups around centres, without specifying how many."""

import numpy as np

from ..array_types import Float, Int
from ..runtime.arguments import whole_number
from ..search.pairs import best_first, checked_threshold, checked_vectors, pairs_above


def communities(
    vectors: Float[np.ndarray, "N D"], *, threshold: float = 0.75, min_size: int = 5
) -> list[Int[np.ndarray, " n"]]:
    """Groups of rows whose cosine to a centre reaches `threshold`, largest first, each group starting with its centre.

    Rows with the most neighbours become centres first; each row joins the first group that reaches it, and groups that
    end up with fewer than `min_size` rows are dropped. Rows without a group are omitted from the result. `threshold=1`
    finds the groups of exact copies.
    """
    threshold, min_size = checked_threshold(threshold), whole_number("min_size", min_size)
    vectors = checked_vectors(vectors)
    neighbours = _neighbours(vectors, threshold)
    free = np.ones(len(vectors), dtype=bool)
    groups = []
    for centre in sorted(range(len(vectors)), key=lambda i: -len(neighbours[i])):
        if len(neighbours[centre]) < min_size:
            break
        if free[centre]:
            members = neighbours[centre][free[neighbours[centre]]]
            if len(members) >= min_size:
                free[members] = False
                groups.append(np.concatenate([[centre], members[members != centre]]))
    return sorted(groups, key=len, reverse=True)


def _neighbours(vectors: Float[np.ndarray, "N D"], threshold: float) -> list[Int[np.ndarray, " n"]]:
    """For each row, itself and the others within the threshold, nearest first; ties go to the earlier row."""
    pairs = best_first(pairs_above(vectors, threshold))
    own = np.flatnonzero(vectors.any(axis=1) | (threshold <= 0))  # the cosine of a row of zeros with itself is 0
    rows, others = (np.concatenate(columns) for columns in ((pairs.i, pairs.j, own), (pairs.j, pairs.i, own)))
    scores = np.concatenate([pairs.scores, pairs.scores, np.ones(len(own))])
    order = np.lexsort((others, -scores, rows))
    return np.split(others[order], np.cumsum(np.bincount(rows, minlength=len(vectors)))[:-1])
