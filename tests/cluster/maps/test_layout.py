"""Layouts fit into the unit square, with the same scale on both axes."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.cluster.maps.layout import LAYOUTS, map_layout, to_unit_square
from likewise.errors import BadInput, MissingExtra


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [0, 1, 2, 15])
def test_every_text_has_a_place_in_the_unit_square(layout, count):
    places = map_layout(np.random.default_rng(0).normal(size=(count, 6)), layout)
    assert places.shape == (count, 2) and (places >= -1e-12).all() and (places <= 1 + 1e-12).all()


@given(st.integers(0, 1000), st.integers(2, 30))
def test_distances_keep_their_proportions(seed, count):
    places = np.random.default_rng(seed).normal(size=(count, 2)) * [3, 1] + [100, -7]
    moved = to_unit_square(places)
    before, after = (np.linalg.norm(p[:, None] - p, axis=2) for p in (places, moved))
    np.testing.assert_allclose(after * before.max(), before * after.max(), atol=1e-9 * before.max())
    extent = np.ptp(moved, axis=0)
    assert extent.max() == pytest.approx(1) and moved.min(axis=0) + extent / 2 == pytest.approx([0.5, 0.5])


def test_vectors_of_one_number_lie_on_a_line():
    assert set(map_layout(np.array([[1.0], [-1.0], [3.0]]), "pca")[:, 1]) == {0.5}


def test_an_unknown_layout_is_answered_by_those_there_are():
    with pytest.raises(BadInput, match="layout is 'umap'; expected one of pca, t-sne"):
        map_layout(np.eye(3), "umap")


def test_tsne_names_the_extra_it_needs_and_components_need_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    assert map_layout(np.eye(3), "pca").shape == (3, 2)
    with pytest.raises(MissingExtra, match="a map by t-sne needs the package scikit-learn"):
        map_layout(np.eye(3), "t-sne")


def test_a_map_by_t_sne_has_the_seed_that_is_given_or_0(monkeypatch):
    monkeypatch.setattr(
        "likewise.cluster.maps.layout.tsne_layout", lambda rows, seed, _: np.full((len(rows), 2), float(seed))
    )
    monkeypatch.setattr("likewise.cluster.maps.layout.to_unit_square", lambda places: places)
    assert [map_layout(np.eye(3), "t-sne", **given)[0, 0] for given in ({}, {"seed": 5})] == [0, 5]
