"""Principal components equal scikit-learn's up to the sign, which is fixed here."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from likewise.cluster.maps.layout import principal_components

VECTORS = np.random.default_rng(0).normal(size=(50, 6)) * [5, 4, 3, 2, 1, 0.5] + 7


@pytest.mark.parametrize("width", [1, 2, 6])
def test_components_are_scikit_learns(width):
    expected = PCA(width, svd_solver="full").fit_transform(VECTORS)
    found = principal_components(VECTORS, width)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=1e-9)


def test_vectors_that_are_all_alike_are_at_zero():
    assert not principal_components(np.ones((4, 3)), 2).any()


def test_the_sign_does_not_depend_on_the_order_of_rows():
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_allclose(principal_components(VECTORS[order], 3), principal_components(VECTORS, 3)[order])
