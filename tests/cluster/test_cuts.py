"""Cutting a tree by number, height or cosine gives the same clusters as scipy, numbered by size."""

import numpy as np
import pytest
import scipy.cluster.hierarchy as scipys
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.similarity import cosine
from likewise.cluster import cut_at_cosine, cut_at_height, cut_into, linkage
from likewise.cluster.hierarchical import by_size
from likewise.errors import BadInput

VECTORS = np.random.default_rng(0).normal(size=(60, 5))
TREES = {method: linkage(VECTORS, method) for method in ("average", "complete", "ward")}


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


@pytest.mark.parametrize("method", TREES)
@pytest.mark.parametrize("k", [1, 2, 7, 59, 60])
def test_a_tree_is_cut_into_as_many_clusters_as_asked(method, k):
    labels = cut_into(TREES[method], k)
    assert partition(labels) == partition(scipys.fcluster(TREES[method], k, "maxclust"))
    assert set(labels.tolist()) == set(range(k))


@pytest.mark.parametrize("method", TREES)
@pytest.mark.parametrize("height", [-1.0, 0.0, 0.3, 1.0, 99.0])
def test_a_tree_is_cut_at_a_height(method, height):
    labels = cut_at_height(TREES[method], height)
    assert partition(labels) == partition(scipys.fcluster(TREES[method], height, "distance"))


@given(st.floats(-1, 1))
def test_every_pair_of_a_complete_cluster_is_as_near_as_the_cosine_it_was_cut_at(least):
    labels = cut_at_cosine(TREES["complete"], least)
    same = labels[:, None] == labels
    assert cosine(VECTORS, VECTORS)[same].min() >= least - 1e-9


def test_copies_of_other_lengths_merge_at_a_cosine_of_one():
    rows = np.random.default_rng(0).normal(size=(10, 64)).astype(np.float32)
    lengths = np.random.default_rng(1).uniform(0.1, 9, (20, 1)).astype(np.float32)
    labels = cut_at_cosine(linkage(np.concatenate([rows, rows]) * lengths), 1)
    assert labels.tolist() == [*range(10), *range(10)]


@given(st.lists(st.integers(-2, 5), min_size=1, max_size=30), st.integers(1, 5))
def test_labels_are_numbered_by_size_then_by_first_row(labels, least):
    given_labels = np.array(labels)
    numbered = by_size(given_labels, least=least)
    kept = [given_labels == label for label in dict.fromkeys(labels) if label >= 0]
    kept = sorted((mask for mask in kept if mask.sum() >= least), key=lambda mask: -mask.sum())
    expected = np.full(len(labels), -1)
    for number, mask in enumerate(kept):
        expected[mask] = number
    assert numbered.tolist() == expected.tolist()


@pytest.mark.parametrize(("k", "message"), [(0, "1 or more"), (61, "at most the number of vectors, 60")])
def test_a_number_of_clusters_that_cannot_be_is_refused(k, message):
    with pytest.raises(BadInput, match=message):
        cut_into(TREES["ward"], k)


def test_a_height_that_is_nan_is_refused():
    with pytest.raises(BadInput, match="height is nan"):
        cut_at_height(TREES["ward"], float("nan"))
