"""Communities: dense groups around a centre, found without saying how many there are."""

import numpy as np
from jaxtyping import Float, Int

from ..arrays.similarity import check_finite_rows, number_table, unit, unit_cosine
from ..errors import BadInput
from ..runtime.arguments import real_number, whole_number

BLOCK = 2048


def communities(
    vectors: Float[np.ndarray, "N D"], *, threshold: float = 0.75, smallest: int = 5
) -> list[Int[np.ndarray, " n"]]:
    """Groups of rows within `threshold` cosine of a centre, largest first, each with its centre first.

    Rows are taken as centres in the order of how many neighbours they have; each row joins the first group that
    reaches it, and a group that is then smaller than `smallest` dissolves. Rows in no group are simply absent.
    `threshold=1` finds the groups of exact copies.

    Raises:
        BadInput: a row holds a number that is NaN or infinite, or an option is out of bounds.
    """
    threshold, smallest = real_number("threshold", threshold), whole_number("smallest", smallest)
    if not -1 <= threshold <= 1:
        raise BadInput(f"wanted a threshold from -1 to 1; got threshold={threshold}")
    vectors = number_table(vectors, "vectors")
    if vectors.ndim != 2:
        raise BadInput(f"wanted a table of vectors (N, D), a row a text; got the shape {vectors.shape}")
    check_finite_rows(vectors, "vectors")
    neighbours = _neighbours(vectors, threshold)
    free = np.ones(len(vectors), dtype=bool)
    found = []
    for centre in sorted(range(len(vectors)), key=lambda i: -len(neighbours[i])):
        if len(neighbours[centre]) < smallest:
            break
        if free[centre]:
            members = neighbours[centre][free[neighbours[centre]]]
            if len(members) >= smallest:
                free[members] = False
                found.append(np.concatenate([[centre], members[members != centre]]))
    return sorted(found, key=len, reverse=True)


def _neighbours(vectors: Float[np.ndarray, "N D"], threshold: float) -> list[Int[np.ndarray, " n"]]:
    """For each row, the rows within the threshold (itself among them), nearest first."""
    found = []
    vectors = unit(vectors)
    for start in range(0, len(vectors), BLOCK):
        for scores in unit_cosine(vectors[start : start + BLOCK], vectors):
            near = np.flatnonzero(scores >= threshold)
            found.append(near[np.argsort(-scores[near], kind="stable")])
    return found
