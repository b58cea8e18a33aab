"""Exact hierarchical clustering by nearest-neighbour chains (Murtagh 1983; Müllner 2011, Fig. 3).

A chain leads from a cluster to its nearest neighbour, then to that cluster's nearest neighbour, and so on, until two
clusters are each other's nearest neighbours and merge. Each of the N − 1 merges reads a few rows of distances: O(N²)
time, with no memory beyond the distances.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..array_types import Float, Int
from ..arrays.connected_components import DisjointSets
from ..arrays.similarity import unit, unit_cosine
from ..errors import BadInput
from ..runtime.arguments import known_name, real_number, whole_number
from ..runtime.progress import Progress, show_progress
from ..search.pairs import checked_vectors

MEMORY = 1 << 32
"""Default memory limit for the distances, in bytes; enough for 23,170 vectors."""
BLOCK = 256  # rows and columns of a tile, which fits in the cache while it is transposed


def cosine_distances(
    vectors: Float[np.ndarray, "N D"], *, memory: int = MEMORY, show_progress_bar: Progress = None
) -> Float[np.ndarray, "N N"]:
    """1 − cosine for all pairs, exactly symmetric, 0 for copies; takes 8 N² bytes, 800 MB for 10,000 vectors."""
    table = checked_vectors(vectors)
    check_memory(len(table), memory)
    rows = unit(table.astype(np.float64))
    distances = np.empty((len(rows), len(rows)))
    with show_progress(show_progress_bar, len(rows)) as advance:
        for top in range(0, len(rows), BLOCK):
            below = slice(top, top + BLOCK)
            for left in range(top, len(rows), BLOCK):
                right = slice(left, left + BLOCK)
                tile = unit_cosine(rows[below], rows[right])
                np.subtract(1, tile, out=tile)
                distances[below, right] = tile if left > top else np.triu(tile, 1) + np.triu(tile, 1).T
                distances[right, below] = distances[below, right].T
            advance(len(rows[below]), 0)
    return distances


def check_memory(count: int, memory: int) -> None:
    """Raise an error if the distances between this many vectors take more than `memory` bytes."""
    needed = 8 * count * count
    if needed > memory:
        raise BadInput(
            f"distances between {count:,} vectors take {needed / 1e9:.1f} GB, above the {memory / 1e9:.1f} GB allowed: "
            "raise the limit (memory= in Python), or use kmeans or communities, which store no matrix"
        )


ROUNDING = 1e-12  # in cosines, so that copies whose float32 vectors differ in length still merge at a cosine of 1


def cut_into(tree: Float[np.ndarray, "M 4"], k: int) -> Int[np.ndarray, " N"]:
    """The cluster of each row after undoing the last merges until k clusters remain."""
    if whole_number("k", k) > len(tree) + 1:
        raise BadInput(f"k is {k}; expected at most the number of vectors, {len(tree) + 1:,}")
    return _after(tree, len(tree) + 1 - k)


def cut_at_height(tree: Float[np.ndarray, "M 4"], height: float) -> Int[np.ndarray, " N"]:
    """The cluster of each row if only the merges at this distance or less are made."""
    return _after(tree, int(np.searchsorted(tree[:, 2], real_number("height", height), side="right")))


def cut_at_cosine(tree: Float[np.ndarray, "M 4"], cosine: float) -> Int[np.ndarray, " N"]:
    """Like `cut_at_height`, for a tree of cosine distances: make only merges at this cosine or above (± ROUNDING)."""
    return cut_at_height(tree, 1 - real_number("cosine", cosine) + ROUNDING)


def _after(tree: Float[np.ndarray, "M 4"], merges: int) -> Int[np.ndarray, " N"]:
    """The cluster of each row after the first `merges` merges."""
    count, clusters = len(tree) + 1, DisjointSets[int]()
    for i, (a, b) in enumerate(tree[:merges, :2].astype(int).tolist()):
        clusters.join(count + i, a)
        clusters.join(count + i, b)
    return by_size(np.array([clusters.representative(row) for row in range(count)]))


def by_size(labels: Int[np.ndarray, " N"], *, least: int = 1) -> Int[np.ndarray, " N"]:
    """Renumber clusters by size, 0 being the largest; ties are ordered by their first row.

    Rows with negative labels, or in clusters of fewer than `least` rows, get −1.
    """
    _, first, cluster, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    taken = (labels[first] >= 0) & (sizes >= least)
    order = np.lexsort((first, -sizes, ~taken))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return np.asarray(np.where(taken, number, -1)[cluster])


DENSE = 0.7  # when a smaller fraction of rows is in use, the unused ones are removed
Row = Float[np.ndarray, " n"]


class Merge(NamedTuple):
    """Two clusters that merge: their distances to all other clusters and to each other, and all cluster sizes."""

    a: Row
    b: Row
    height: float
    size_a: float
    size_b: float
    sizes: Row


def average_update(merge: Merge) -> Row:
    """The mean distance over all pairs between two clusters (UPGMA)."""
    return np.asarray((merge.size_a * merge.a + merge.size_b * merge.b) / (merge.size_a + merge.size_b))


def complete_update(merge: Merge) -> Row:
    """The largest distance between any pair from two clusters."""
    return np.asarray(np.maximum(merge.a, merge.b))


def ward_update(merge: Merge) -> Row:
    """The increase in squared distances to centres, as a length (Ward 1963; Lance and Williams 1967)."""
    share = 1 / (merge.size_a + merge.size_b + merge.sizes)
    near = (merge.sizes + merge.size_a) * share * merge.a * merge.a
    far = (merge.sizes + merge.size_b) * share * merge.b * merge.b
    return np.asarray(np.sqrt(near + far - merge.sizes * share * merge.height * merge.height))


LINKAGES = {"average": average_update, "complete": complete_update, "ward": ward_update}
"""Average and complete linkage use cosine distances; Ward's uses Euclidean distances between unit-length rows."""


def linkage(
    vectors: Float[np.ndarray, "N D"],
    method: str = "average",
    *,
    memory: int = MEMORY,
    show_progress_bar: Progress = None,
) -> Float[np.ndarray, "M 4"]:
    """The tree of all merges, in the format of `scipy.cluster.hierarchy.linkage`.

    Row i merges two clusters into cluster N + i: it holds their numbers (below N: a row of `vectors`), their distance,
    and the size of the new cluster. Rows are sorted by distance.

    Args:
        memory: maximum bytes for the distances; N vectors need 8 N².

    Raises:
        BadInput: the vectors are not a matrix of finite numbers, or need more memory than allowed.
    """
    known_name("method", method, LINKAGES)
    distances = cosine_distances(vectors, memory=memory, show_progress_bar=show_progress_bar)
    if method == "ward":
        distances *= 2
        np.sqrt(distances, out=distances)
    return linkage_in_place(distances, method, show_progress_bar=show_progress_bar)


def linkage_in_place(
    distances: Float[np.ndarray, "N N"], method: str, *, show_progress_bar: Progress = None
) -> Float[np.ndarray, "M 4"]:
    """Like `linkage`, but for a symmetric distance matrix in fp64, which is overwritten; its diagonal is not read."""
    chain = _Chain(distances, LINKAGES[method])
    merges = np.empty((max(0, len(distances) - 1), 4))
    with show_progress(show_progress_bar, len(distances)) as advance:
        for i in range(len(merges)):
            merges[i] = chain.merge()
            advance(1, 0)
    return _numbered(merges[np.argsort(merges[:, 2], kind="stable")])


class _Chain:
    """The remaining clusters, their distances, and the current chain of nearest neighbours."""

    def __init__(self, distances: Float[np.ndarray, "N N"], update: Callable[[Merge], Row]) -> None:
        self.distances, self.update = distances, update
        np.fill_diagonal(distances, np.inf)
        self.names = np.arange(len(distances))  # a cluster is named after one of its vectors
        self.sizes = np.ones(len(distances))
        self.gone = np.zeros(len(distances))  # added to distances: infinite for rows that were merged into another row
        self.left = len(distances)
        self.chain: list[int] = []

    def merge(self) -> tuple[int, int, float, float]:
        """Merge the two closest clusters; return their names, their distance, and the size of the result."""
        a, b, height = self._nearest_to_each_other()
        sizes, distances = self.sizes, self.distances
        new = self.update(Merge(distances[a], distances[b], height, sizes[a], sizes[b], sizes))
        new[b] = np.inf
        distances[b] = distances[:, b] = new
        names, size = (int(self.names[a]), int(self.names[b])), float(sizes[a] + sizes[b])
        sizes[a], sizes[b], self.gone[a] = 0, size, np.inf
        self.left -= 1
        if self.left < DENSE * len(sizes):
            self._compact(np.flatnonzero(sizes))
        return *names, height, size

    def _nearest_to_each_other(self) -> tuple[int, int, float]:
        """Follow the chain to its end; in a tie, it turns back instead of growing, which guarantees that it ends."""
        chain = self.chain
        if not chain:
            chain.append(int(np.argmax(self.sizes > 0)))
        while True:
            row = self.distances[chain[-1]] + self.gone
            nearest = int(row.argmin())
            if len(chain) > 1 and row[chain[-2]] == row[nearest]:
                b, a = chain.pop(), chain.pop()
                return min(a, b), max(a, b), float(row[nearest])
            chain.append(nearest)

    def _compact(self, kept: Int[np.ndarray, " n"]) -> None:
        """Remove merged rows and columns in place; rows only ever move up and to the left."""
        compact = self.distances.reshape(-1)[: len(kept) ** 2].reshape(len(kept), len(kept))
        for place, row in enumerate(kept):
            compact[place] = self.distances[row, kept]
        self.chain = [int(np.searchsorted(kept, i)) for i in self.chain]
        self.names, self.sizes, self.gone = self.names[kept], self.sizes[kept], self.gone[kept]
        self.distances = compact


def _numbered(merges: Float[np.ndarray, "M 4"]) -> Float[np.ndarray, "M 4"]:
    """Sort the merges and replace cluster names with numbers, the smaller number first."""
    count, clusters = len(merges) + 1, DisjointSets[int]()
    for i, (a, b) in enumerate(merges[:, :2].astype(int).tolist()):
        first, second = sorted((clusters.representative(a), clusters.representative(b)))
        merges[i, :2] = first, second
        clusters.join(count + i, first)
        clusters.join(count + i, second)
    return merges
