"""Every clustering method finds clear bundles, numbers them by size, and rejects options of other methods."""

import sys

import numpy as np
import pytest

from likewise.cluster import CLUSTERINGS, cluster_vectors, communities, members
from likewise.cluster.hierarchical import LINKAGES
from likewise.errors import BadInput, MissingExtra

SIZES = (30, 20, 12)


def bundles(seed: int = 0) -> np.ndarray:
    """Three tight bundles around orthogonal axes, in random order."""
    draw = np.random.default_rng(seed)
    rows = [np.eye(24)[axis] + 0.05 * draw.normal(size=24) for axis, count in enumerate(SIZES) for _ in range(count)]
    return np.array(rows)[draw.permutation(sum(SIZES))]


def options(method: str) -> dict[str, float]:
    """The options that a method requires."""
    row = CLUSTERINGS[method]
    return {"k": 3} if row.by and row.threshold is None else {}


def test_each_method_takes_its_own_options_and_has_its_own_defaults():
    assert {name: (row.by, row.threshold, row.min_size) for name, row in CLUSTERINGS.items()} == {
        "average": (("k", "threshold"), 0.4, 3),
        "complete": (("k", "threshold"), 0.3, 3),
        "ward": (("k",), None, 1),
        "kmeans": (("k",), None, 1),
        "communities": (("threshold",), 0.6, 5),
        "hdbscan": ((), None, 10),
    }


def test_hdbscan_needs_rows_for_two_clusters_of_two_or_more():
    rows = np.random.default_rng(0).normal(0, 0.01, (20, 8)) + np.repeat(np.eye(8)[:2], 10, axis=0)
    assert [len(found) for found in members(cluster_vectors(rows, "hdbscan"))] == [10, 10]
    assert (cluster_vectors(rows[:19], "hdbscan") == -1).all()
    assert (cluster_vectors(rows[8:11], "hdbscan", min_size=1) == -1).all()


@pytest.mark.parametrize("method", CLUSTERINGS)
def test_bundles_are_found_the_largest_first(method):
    vectors = bundles()
    found = members(cluster_vectors(vectors, method, **options(method)))
    sizes = [len(rows) for rows in found]
    assert sizes == list(SIZES) if method != "hdbscan" else sizes == sorted(sizes, reverse=True) and sum(sizes) > 55
    assert all(set(vectors[rows].argmax(axis=1)) == {axis} for axis, rows in enumerate(found))


@pytest.mark.parametrize("method", CLUSTERINGS)
def test_lengths_of_vectors_change_nothing(method):
    vectors = bundles()
    lengths = 2.0 ** np.random.default_rng(2).integers(-9, 9, (len(vectors), 1))
    asked = options(method)
    assert np.array_equal(
        cluster_vectors(vectors, method, **asked), cluster_vectors(vectors * lengths, method, **asked)
    )


@pytest.mark.parametrize("method", CLUSTERINGS)
def test_small_clusters_are_dissolved(method):
    labels = cluster_vectors(bundles(), method, **options(method), min_size=13)
    assert all(len(rows) >= 13 for rows in members(labels)) and labels.max() == 1


@pytest.mark.parametrize("method", CLUSTERINGS)
def test_one_vector_is_in_one_cluster_or_in_none(method):
    asked = {"k": 1} if options(method) else {}
    least = 1 if asked else CLUSTERINGS[method].min_size
    assert cluster_vectors(np.ones((1, 4)), method, **asked).tolist() == [0 if least == 1 else -1]


@pytest.mark.parametrize("method", [name for name, row in CLUSTERINGS.items() if "threshold" in row.by])
def test_a_threshold_of_one_joins_copies_alone(method):
    rows = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    labels = cluster_vectors(np.repeat(rows, 3, axis=0), method, threshold=1, min_size=2)
    assert labels.reshape(8, 3).tolist() == [[i] * 3 for i in range(8)]


@pytest.mark.parametrize("method", [name for name, row in CLUSTERINGS.items() if "k" in row.by])
def test_who_asks_for_k_clusters_gets_k(method):
    for k in (40, 62):
        assert cluster_vectors(bundles(), method, k=k).max() == k - 1


@pytest.mark.parametrize("asked", [{"min_size": 2}, {}])
def test_communities_are_those_of_the_function(asked):
    vectors = np.concatenate([bundles(), *([np.eye(24)[size]] * size for size in range(3, 8))])
    groups = communities(vectors, threshold=0.9, **asked)
    labels = cluster_vectors(vectors, "communities", threshold=0.9, **asked)
    assert [rows.tolist() for rows in members(labels)] == [sorted(group.tolist()) for group in groups]


@pytest.mark.parametrize("method", CLUSTERINGS)
def test_what_a_method_does_not_take_is_refused(method):
    row = CLUSTERINGS[method]
    for name, value in (("k", 2), ("threshold", 0.5)):
        if name not in row.by:
            with pytest.raises(BadInput, match=f"{method} takes .*; got {name}"):
                cluster_vectors(bundles(), method, **{name: value})
    with pytest.raises(BadInput, match="got k and threshold"):
        cluster_vectors(bundles(), method, k=2, threshold=0.5)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"method": "dbscan"}, "expected one of average, complete"),
        ({"method": "kmeans"}, "kmeans needs k: specify how many clusters you want"),
        ({"method": "ward", "k": 63}, "k is 63; expected at most the number of vectors, 62"),
        ({"k": 0}, "k is 0; expected a whole number, 1 or more"),
        ({"threshold": 1.5}, "threshold is 1.5; expected a cosine from -1 to 1"),
        ({"min_size": 0}, "min_size is 0; expected a whole number, 1 or more"),
    ],
)
def test_options_out_of_bounds_are_refused(asked, message):
    with pytest.raises(BadInput, match=message):
        cluster_vectors(bundles(), **asked)


@pytest.mark.parametrize("method", CLUSTERINGS)
def test_memory_is_refused_where_distances_are_kept(method, monkeypatch):
    monkeypatch.setattr("likewise.cluster.clusterings.MEMORY", 10)
    if method in LINKAGES:
        with pytest.raises(BadInput, match="above the 0.0 GB allowed"):
            cluster_vectors(bundles(), method, **options(method))
    else:
        assert len(cluster_vectors(bundles(), method, **options(method))) == sum(SIZES)


def test_members_leave_out_rows_in_no_cluster():
    assert [rows.tolist() for rows in members(np.array([1, -1, 0, 0, 1, -1, 2]))] == [[2, 3], [0, 4], [6]]
    assert members(np.array([-1, -1])) == [] and members(np.empty(0, int)) == []


def test_hdbscan_names_the_extra_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(MissingExtra, match="clustering by hdbscan needs the package scikit-learn"):
        cluster_vectors(bundles(), "hdbscan")
