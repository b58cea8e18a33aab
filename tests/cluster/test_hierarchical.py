"""Hierarchical clustering is bit-for-bit identical to scipy's for the same distances."""

import numpy as np
import pytest
import scipy.cluster.hierarchy as scipys
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from likewise.arrays.similarity import unit
from likewise.cluster import linkage
from likewise.cluster.hierarchical import LINKAGES, linkage_in_place
from likewise.errors import BadInput

MEANS = {"average": lambda distances: distances.mean(), "complete": lambda distances: distances.max()}


def bundles(count: int, width: int = 8, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return draw.normal(size=(count, width)) + 2 * draw.normal(size=(5, width))[draw.integers(0, 5, count)]


def slow(distances: np.ndarray, method: str) -> list[tuple[float, frozenset[int]]]:
    """The distance and the rows of each merge, computed from all pairs of clusters and all pairs of their rows."""
    clusters, merges = [[i] for i in range(len(distances))], []
    while len(clusters) > 1:
        pairs = [(a, b) for a in range(len(clusters)) for b in range(a + 1, len(clusters))]
        height, (a, b) = min((MEANS[method](distances[np.ix_(clusters[a], clusters[b])]), (a, b)) for a, b in pairs)
        clusters[a] += clusters.pop(b)
        merges.append((height, frozenset(clusters[a])))
    return merges


def merged_rows(tree: np.ndarray) -> list[frozenset[int]]:
    rows = [frozenset([i]) for i in range(len(tree) + 1)]
    for a, b in tree[:, :2].astype(int):
        rows.append(rows[a] | rows[b])
    return rows[len(tree) + 1 :]


@pytest.mark.parametrize("method", MEANS)
def test_merges_are_those_of_comparing_all_pairs_of_clusters(method):
    distances = squareform(pdist(bundles(30)))
    expected = slow(distances, method)
    tree = linkage_in_place(distances.copy(), method)
    np.testing.assert_allclose(tree[:, 2], [height for height, _ in expected], rtol=1e-12)
    assert merged_rows(tree) == [rows for _, rows in expected]


@pytest.mark.parametrize("method", LINKAGES)
@given(count=st.integers(2, 60), seed=st.integers(0, 10_000), levels=st.sampled_from([0, 1, 3, 1000]))
def test_a_tree_is_scipys_to_the_last_bit_with_ties_too(method, count, seed, levels):
    draw = np.random.default_rng(seed)
    distances = pdist(draw.normal(size=(count, 3)))
    if levels:  # few distinct values, so that there are many ties
        distances = draw.integers(0, levels + 1, len(distances)).astype(float)
    expected = scipys.linkage(distances, method)
    assert np.array_equal(linkage_in_place(squareform(distances), method), expected)


@pytest.mark.parametrize("method", LINKAGES)
def test_rows_that_are_removed_on_the_way_change_nothing(method, monkeypatch):
    distances = squareform(pdist(bundles(200)))
    trees = []
    for dense in (0.0, 0.5, 0.999):
        monkeypatch.setattr("likewise.cluster.hierarchical.DENSE", dense)
        trees.append(linkage_in_place(distances.copy(), method))
    assert np.array_equal(trees[0], trees[1]) and np.array_equal(trees[0], trees[2])


@pytest.mark.parametrize(("method", "metric"), [("average", "cosine"), ("complete", "cosine"), ("ward", "euclidean")])
def test_vectors_are_compared_by_their_directions(method, metric):
    vectors = bundles(300, 64)
    expected = scipys.linkage(pdist(unit(vectors), metric), method)
    lengths = np.random.default_rng(1).uniform(0.1, 9, (300, 1))
    tree = linkage(vectors * lengths, method)
    assert np.array_equal(tree[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(tree[:, 2], expected[:, 2], rtol=1e-9)


@pytest.mark.parametrize("method", LINKAGES)
@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_vectors_have_no_merges(method, count):
    assert linkage(np.ones((count, 4)), method).shape == (0, 4)


def test_progress_counts_every_vector():
    seen = []
    linkage(bundles(20), show_progress_bar=lambda meter: seen.append((meter.texts, meter.tokens)))
    assert seen == [(20, 0), *((i, 0) for i in range(1, 20))]  # first the distances, then the merges


def test_memory_is_refused_before_it_is_taken():
    with pytest.raises(BadInput, match=r"distances between 1,000,000 vectors take 8000.0 GB, above the 4.3 GB allowed"):
        linkage(np.zeros((1_000_000, 1), np.float32))
    with pytest.raises(BadInput, match=r"take 0.0 GB, above"):
        linkage(np.ones((10, 2)), memory=799)
    assert len(linkage(np.ones((10, 2)), memory=800)) == 9


def test_an_unknown_method_is_answered_by_those_there_are():
    with pytest.raises(BadInput, match="method is 'median'; expected one of average, complete, ward"):
        linkage(np.eye(3), "median")
