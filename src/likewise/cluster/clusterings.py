"""All ways to cluster vectors, by name: `cluster_vectors` is what the command line calls."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from ..arrays.kmeans import kmeans
from ..arrays.similarity import unit
from ..errors import BadInput
from ..runtime.arguments import known_name, real_number, whole_number
from ..runtime.installation import missing_extra
from ..runtime.progress import Progress
from ..search.pairs import checked_vectors
from .community_detection import communities
from .hierarchical import LINKAGES, MEMORY, by_size, check_memory, cut_at_cosine, cut_into, linkage

DEFAULT_METHOD = "average"
"""Of the command line, of Python and of the map of a collection alike, with the method's own threshold."""
Labels = Int[np.ndarray, " N"]
"""The cluster of each row, from 0, the largest first; −1 for rows in none."""


@dataclass(frozen=True)
class ClusterOptions:
    """What a clustering may be asked for; each method uses those that its row in CLUSTERINGS names."""

    k: int | None = None
    threshold: float | None = None
    min_size: int = 1
    seed: int = 0
    memory: int = MEMORY
    """Bytes that the distances of average, complete and ward may take."""
    show_progress_bar: Progress = None


@dataclass(frozen=True)
class ClusteringMethod:
    """A way to cluster vectors."""

    find: Callable[[Float[np.ndarray, "N D"], ClusterOptions], Labels]
    """Rows of length 1 to a label each; any numbers, negative for none."""
    summary: str
    by: tuple[str, ...]
    """The options that say how many clusters there are, of which one is given: k, threshold, or neither."""
    threshold: float | None = None
    """The cosine where neither is given; None: one of them must be."""
    min_size: int = 1
    """The least size of a cluster where neither it nor k is given."""


def cluster_vectors(
    vectors: Float[np.ndarray, "N D"],
    method: str = DEFAULT_METHOD,
    *,
    k: int | None = None,
    threshold: float | None = None,
    min_size: int | None = None,
    seed: int = 0,
    show_progress_bar: Progress = None,
) -> Labels:
    """The cluster of each row by a method of CLUSTERINGS, the largest 0; −1 for rows in no cluster.

    Args:
        vectors: a row a text; compared by cosine, so lengths do not matter.
        method: average, complete, ward, kmeans, communities or hdbscan.
        k: the number of clusters (average, complete, ward, kmeans).
        threshold: the cosine at which clusters end: the mean of all pairs of two clusters that merge (average), the
            least of any pair (complete), or that to the centre (communities).
        min_size: clusters with fewer rows are dissolved (default: the method's; 1 where k is given).
        seed: of kmeans' first centres, and of the reduction before hdbscan.
        show_progress_bar: whether to show progress on stderr (None: on a terminal).

    Raises:
        BadInput: an option is out of bounds, or not one of this method; vectors are no table of finite numbers.
        MissingExtra: hdbscan needs scikit-learn.
    """
    options = replace(checked_options(method, k, threshold, min_size), seed=seed, show_progress_bar=show_progress_bar)
    return cluster_with_options(vectors, method, options)


def cluster_with_options(vectors: Float[np.ndarray, "N D"], method: str, options: ClusterOptions) -> Labels:
    """The same with options that `checked_options` gave, and with another limit of memory if one is wanted."""
    rows = unit(checked_vectors(vectors))
    if not len(rows):
        return np.empty(0, np.int64)
    check_count(method, len(rows), options)
    return by_size(CLUSTERINGS[method].find(rows, options), least=options.min_size)


def checked_options(method: str, k: int | None, threshold: float | None, min_size: int | None) -> ClusterOptions:
    """The options with the method's defaults, before any work."""
    row = CLUSTERINGS[known_name("method", method, CLUSTERINGS)]
    given = {name: value for name, value in (("k", k), ("threshold", threshold)) if value is not None}
    wrong = [name for name in given if name not in row.by]
    if wrong or len(given) > 1:
        accepted = " or ".join(row.by) or "neither k nor threshold"
        raise BadInput(f"{method} takes {accepted}; got {' and '.join(given)}")
    if row.by and not given and row.threshold is None:
        raise BadInput(f"{method} needs {' or '.join(row.by)}: how many clusters are wanted?")
    if threshold is not None and not -1 <= real_number("threshold", threshold) <= 1:
        raise BadInput(f"threshold is {threshold}; expected a cosine from -1 to 1")
    return ClusterOptions(
        None if k is None else whole_number("k", k),
        row.threshold if not given else threshold,
        _least(row, k) if min_size is None else whole_number("min_size", min_size),
    )


def check_count(method: str, count: int, options: ClusterOptions) -> None:
    """Refuse, before vectors are computed, more clusters than there are vectors, or distances beyond the memory."""
    if options.k is not None and options.k > count:
        raise BadInput(f"k is {options.k}; expected at most the number of vectors, {count:,}")
    if method in LINKAGES:
        check_memory(count, options.memory)


def _least(row: ClusteringMethod, k: int | None) -> int:
    """The least size of a cluster where none is given; who asks for k clusters gets k."""
    return row.min_size if k is None else 1


def members(labels: Labels) -> list[Int[np.ndarray, " n"]]:
    """The rows of each cluster, in the order of their numbers; those in no cluster are left out."""
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []


def _hierarchical(method: str) -> Callable[[Float[np.ndarray, "N D"], ClusterOptions], Labels]:
    def find(vectors: Float[np.ndarray, "N D"], options: ClusterOptions) -> Labels:
        tree = linkage(vectors, method, memory=options.memory, show_progress_bar=options.show_progress_bar)
        if options.k is not None:
            return cut_into(tree, options.k)
        assert options.threshold is not None  # checked_options has seen to it
        return cut_at_cosine(tree, options.threshold)

    return find


def _kmeans(vectors: Float[np.ndarray, "N D"], options: ClusterOptions) -> Labels:
    assert options.k is not None
    return kmeans(vectors, options.k, seed=options.seed).groups


def _communities(vectors: Float[np.ndarray, "N D"], options: ClusterOptions) -> Labels:
    assert options.threshold is not None
    labels = np.full(len(vectors), -1)
    for number, group in enumerate(communities(vectors, threshold=options.threshold, min_size=options.min_size)):
        labels[group] = number
    return labels


def _hdbscan(vectors: Float[np.ndarray, "N D"], options: ClusterOptions) -> Labels:
    try:
        from .hdbscan import hdbscan_clusters
    except ImportError:
        raise missing_extra("scikit-learn", "map", "clustering by hdbscan") from None
    return hdbscan_clusters(vectors, options.min_size, options.seed)


CLUSTERINGS: dict[str, ClusteringMethod] = {
    "average": ClusteringMethod(
        _hierarchical("average"), "merge the two clusters with the highest mean cosine", ("k", "threshold"), 0.4, 3
    ),
    "complete": ClusteringMethod(
        _hierarchical("complete"), "the same by the least cosine of any pair", ("k", "threshold"), 0.3, 3
    ),
    "ward": ClusteringMethod(_hierarchical("ward"), "merge where squared distances to centres grow least", ("k",)),
    "kmeans": ClusteringMethod(_kmeans, "spherical k-means: k centres, each text with the nearest", ("k",)),
    "communities": ClusteringMethod(
        _communities, "texts near a centre, the densest first; many texts are in none", ("threshold",), 0.6, 5
    ),
    "hdbscan": ClusteringMethod(_hdbscan, "dense regions of any shape after t-SNE; the rest is in none", (), None, 10),
}
