"""Neighbours stay neighbours in two dimensions, and the same seed gives the same positions."""

from types import SimpleNamespace

import numpy as np
import pytest

from likewise.cluster.maps.layout import FEWEST, principal_components, tsne_layout


def test_bundles_stay_apart_and_a_seed_repeats_them():
    draw = np.random.default_rng(0)
    vectors = np.repeat(np.eye(12)[:3], 12, axis=0) + 0.02 * draw.normal(size=(36, 12))
    places = tsne_layout(vectors, 0)
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (apart.argmin(axis=1) // 12 == np.arange(36) // 12).all()
    assert np.array_equal(places, tsne_layout(vectors, 0))


NOISE = np.random.default_rng(0).normal(size=(20, 4))


@pytest.mark.parametrize("count", [1, FEWEST - 1])
def test_few_vectors_are_at_their_principal_components(count):
    vectors = np.random.default_rng(0).normal(size=(count, 5))
    assert np.array_equal(tsne_layout(vectors, 0), principal_components(vectors, 30)[:, :2])


@pytest.mark.parametrize(("count", "perplexity"), [(FEWEST, 7 / 3), (90, 89 / 3), (91, 30), (200, 30)])
def test_it_starts_from_30_components_and_the_perplexity_is_30_or_a_third_of_the_others(count, perplexity, monkeypatch):
    given, rows = {}, []
    fake = SimpleNamespace(fit_transform=lambda reduced: rows.append(reduced) or reduced[:, :2])
    monkeypatch.setattr("sklearn.manifold.TSNE", lambda **options: given.update(options) or fake)
    vectors = np.random.default_rng(0).normal(size=(count, 40))
    tsne_layout(vectors, 7)
    start, components = given.pop("init"), principal_components(vectors, 30)
    assert np.array_equal(rows[0], components) and start.dtype == np.float32
    np.testing.assert_allclose(start, components[:, :2] * 1e-4 / components[:, 0].std(), rtol=1e-5)
    assert given.pop("perplexity") == pytest.approx(perplexity)
    assert given == {"max_iter": 500, "angle": 0.7, "random_state": 7, "n_jobs": 1, "verbose": 0}


def test_as_many_as_t_sne_needs_are_placed_by_it():
    vectors = np.random.default_rng(0).normal(size=(FEWEST, 5))
    assert not np.allclose(tsne_layout(vectors, 0), principal_components(vectors, 30)[:, :2], atol=1)


@pytest.mark.parametrize("vectors", [np.ones((20, 4)), NOISE[:, :1], 1e-200 * NOISE])
def test_vectors_without_two_dimensions_or_with_tiny_ones_have_places(vectors):
    assert np.isfinite(tsne_layout(vectors, 0)).all() and len(tsne_layout(vectors, 0)) == 20


def test_progress_is_reported_and_changes_nothing():
    vectors, shares = np.random.default_rng(0).random((20, 5)), []
    places = tsne_layout(vectors, 0, shares.append)
    assert np.array_equal(places, tsne_layout(vectors, 0))
    assert len(shares) > 5 and shares == sorted(shares) and shares[-1] == 1
