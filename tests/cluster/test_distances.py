"""Distances are exactly symmetric, zero for copies, and the same for tiles of any size."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from likewise.arrays.similarity import unit
from likewise.cluster import hierarchical as module
from likewise.cluster.hierarchical import checked_vectors, cosine_distances
from likewise.errors import BadInput

VECTORS = np.random.default_rng(0).normal(size=(23, 40))


@pytest.mark.parametrize("block", [1, 5, 23, 256])
def test_distances_are_scipys(block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    found = cosine_distances(VECTORS)
    np.testing.assert_allclose(found, cdist(unit(VECTORS), unit(VECTORS), "cosine"), atol=3e-8)
    assert np.array_equal(found, found.T) and (np.diag(found) == 0).all()


def test_copies_have_distance_zero_exactly():
    rows = np.concatenate([VECTORS, VECTORS, 4 * VECTORS]).astype(np.float32)
    found = cosine_distances(rows)
    assert (found[range(23), range(23, 46)] == 0).all() and (found[range(23), range(46, 69)] == 0).all()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("vectors", "message"),
    [([1.0, 2.0], "got shape"), ([[1.0, np.nan]], r"vectors\[0\]"), ([["a"]], "array of real numbers")],
)
def test_what_is_no_table_of_vectors_is_refused(vectors, message):
    with pytest.raises(BadInput, match=message):
        checked_vectors(vectors)
