"""Cutting the tree of a hierarchical clustering into clusters, and numbering them."""

import numpy as np
from jaxtyping import Float, Int

from ..arrays.connected_components import DisjointSets
from ..errors import BadInput
from ..runtime.arguments import real_number, whole_number

ROUNDING = 1e-12  # of cosines: copies whose float32 vectors have other lengths still merge at a cosine of 1


def cut_into(tree: Float[np.ndarray, "M 4"], k: int) -> Int[np.ndarray, " N"]:
    """The cluster of each row when the last merges are undone until there are k clusters."""
    count = len(tree) + 1
    if whole_number("k", k) > count:
        raise BadInput(f"k is {k}; expected at most the number of vectors, {count:,}")
    return _after(tree, count - k)


def cut_at_height(tree: Float[np.ndarray, "M 4"], height: float) -> Int[np.ndarray, " N"]:
    """The cluster of each row when only merges at this distance or less are done."""
    return _after(tree, int(np.searchsorted(tree[:, 2], real_number("height", height), side="right")))


def cut_at_cosine(tree: Float[np.ndarray, "M 4"], cosine: float) -> Int[np.ndarray, " N"]:
    """The same for a tree of cosine distances: only merges at this cosine or more are done, up to ROUNDING."""
    return cut_at_height(tree, 1 - real_number("cosine", cosine) + ROUNDING)


def _after(tree: Float[np.ndarray, "M 4"], merges: int) -> Int[np.ndarray, " N"]:
    """The cluster of each row after the first merges."""
    count, clusters = len(tree) + 1, DisjointSets[int]()
    for i, (a, b) in enumerate(tree[:merges, :2].astype(int).tolist()):
        clusters.join(count + i, a)
        clusters.join(count + i, b)
    return by_size(np.array([clusters.representative(row) for row in range(count)]))


def by_size(labels: Int[np.ndarray, " N"], *, least: int = 1) -> Int[np.ndarray, " N"]:
    """Renumber clusters by size, the largest 0, equal ones by their first row.

    −1 is for rows in no cluster, those of a negative label, and for clusters of fewer rows than `least`.
    """
    _, first, cluster, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    taken = (labels[first] >= 0) & (sizes >= least)
    order = np.lexsort((first, -sizes, ~taken))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return np.asarray(np.where(taken, number, -1)[cluster])
