"""All clustering methods by name; the command line calls `cluster_vectors`."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..array_types import Float, Int
from ..arrays.kmeans import kmeans
from ..arrays.similarity import unit
from ..errors import BadInput
from ..runtime.arguments import known_name, whole_number
from ..runtime.installation import missing_extra
from ..runtime.progress import Progress
from ..search.pairs import checked_threshold, checked_vectors
from .community_detection import communities
from .hierarchical import LINKAGES, MEMORY, by_size, check_memory, cut_at_cosine, cut_into, linkage
from .maps.layout import tsne_layout

DEFAULT_METHOD = "average"
"""The default method on the command line, in Python and for collection maps, with its own default threshold."""
Labels = Int[np.ndarray, " N"]
"""The cluster of each row, numbered from 0, largest first; −1 for rows without a cluster."""


@dataclass(frozen=True)
class ClusterOptions:
    """The options for clustering; each method uses the options named in its row of CLUSTERINGS."""

    k: int | None
    threshold: float | None
    min_size: int
    seed: int = 0
    show_progress_bar: Progress = None


@dataclass(frozen=True)
class ClusteringMethod:
    """A function that labels unit-length rows (negative: no cluster), and the options that it takes."""

    find: Callable[[Float[np.ndarray, "N D"], ClusterOptions], Labels]
    by: tuple[str, ...]  # the criteria that it accepts, `k`, `threshold` or both; at most one may be set
    threshold: float | None = None  # the default if neither is given; None if one of them is required
    min_size: int = 1  # the default if neither min_size nor k is given


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
    """The cluster of each row, by a method in CLUSTERINGS, 0 being the largest; −1 for rows without a cluster.

    Args:
        method: average, complete, ward, kmeans, communities or hdbscan.
        k: the number of clusters (average, complete, ward, kmeans); kmeans returns fewer if there are fewer
            distinct directions.
        threshold: the minimum cosine within a cluster: for average and complete, the mean or the minimum cosine between
            two clusters that merge; for communities, the cosine to the centre.
        min_size: clusters with fewer rows are dissolved (default: depends on the method; 1 if k is given).
        seed: for the initial centres of kmeans, and for the dimensionality reduction before hdbscan.

    Raises:
        BadInput: an option is out of range or not used by this method; the vectors are not a matrix of finite numbers.
        MissingExtra: hdbscan needs scikit-learn.
    """
    options = replace(checked_options(method, k, threshold, min_size), seed=seed, show_progress_bar=show_progress_bar)
    return cluster_with_options(vectors, method, options)


def cluster_with_options(vectors: Float[np.ndarray, "N D"], method: str, options: ClusterOptions) -> Labels:
    """Like `cluster_vectors`, but with options from `checked_options`."""
    rows = unit(checked_vectors(vectors))
    if not len(rows):
        return np.empty(0, np.int64)
    check_count(method, len(rows), options)
    return by_size(CLUSTERINGS[method].find(rows, options), least=options.min_size)


def checked_options(method: str, k: int | None, threshold: float | None, min_size: int | None) -> ClusterOptions:
    """Check the options before any computation, and fill in the method's defaults."""
    row = CLUSTERINGS[known_name("method", method, CLUSTERINGS)]
    given = {name: value for name, value in (("k", k), ("threshold", threshold)) if value is not None}
    wrong = [name for name in given if name not in row.by]
    if wrong or len(given) > 1:
        accepted = " or ".join(row.by) or "neither k nor threshold"
        raise BadInput(f"{method} takes {accepted}; got {' and '.join(given)}")
    if row.by and not given and row.threshold is None:
        raise BadInput(f"{method} needs {' or '.join(row.by)}: specify how many clusters you want")
    if threshold is not None:
        checked_threshold(threshold)
    least = row.min_size if k is None else 1  # if k is given, the result has k clusters
    return ClusterOptions(
        None if k is None else whole_number("k", k),
        row.threshold if not given else threshold,
        least if min_size is None else whole_number("min_size", min_size),
    )


def check_count(method: str, count: int, options: ClusterOptions) -> None:
    """Check before computing vectors that k clusters are possible and that the distances fit in memory."""
    if options.k is not None and options.k > count:
        raise BadInput(f"k is {options.k}; expected at most the number of vectors, {count:,}")
    if method in LINKAGES:
        check_memory(count, MEMORY)


def members(labels: Labels) -> list[Int[np.ndarray, " n"]]:
    """The rows of each cluster, in order of cluster number; rows without a cluster are left out."""
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []


def _hierarchical(method: str) -> Callable[[Float[np.ndarray, "N D"], ClusterOptions], Labels]:
    def find(vectors: Float[np.ndarray, "N D"], options: ClusterOptions) -> Labels:
        tree = linkage(vectors, method, show_progress_bar=options.show_progress_bar)
        if options.k is not None:
            return cut_into(tree, options.k)
        assert options.threshold is not None  # guaranteed by checked_options
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


def hdbscan_clusters(vectors: Float[np.ndarray, "N D"], options: ClusterOptions) -> Labels:
    """Find dense regions (Campello, Moulavi and Sander 2013) after projecting the vectors to two dimensions.

    In hundreds of dimensions, all distances are nearly equal and almost every row is noise, so vectors are first
    projected with t-SNE; principal components keep too little (benchmarks/clustering.py compares the two).
    """
    try:
        from sklearn.cluster import HDBSCAN
    except ImportError:
        raise missing_extra("scikit-learn", "map", "clustering by hdbscan") from None
    least = max(2, options.min_size)
    if len(vectors) < 2 * least:  # HDBSCAN never returns a single cluster, so it needs enough rows for two
        return np.full(len(vectors), -1)
    reduced = tsne_layout(vectors, options.seed)
    return np.asarray(HDBSCAN(min_cluster_size=least, copy=True).fit_predict(reduced), int)


CLUSTERINGS: dict[str, ClusteringMethod] = {
    "average": ClusteringMethod(_hierarchical("average"), ("k", "threshold"), 0.4, 3),
    "complete": ClusteringMethod(_hierarchical("complete"), ("k", "threshold"), 0.3, 3),
    "ward": ClusteringMethod(_hierarchical("ward"), ("k",)),
    "kmeans": ClusteringMethod(_kmeans, ("k",)),
    "communities": ClusteringMethod(_communities, ("threshold",), 0.6, 5),
    "hdbscan": ClusteringMethod(hdbscan_clusters, (), None, 10),
}
