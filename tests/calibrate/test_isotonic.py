"""Isotonic regression compared with a slow one over all blocks, and its defining properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.calibrate import isotonic_fit
from likewise.errors import BadInput

POINTS = st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 4)), min_size=1, max_size=25)


def slow_fit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """At each x: the max over starts before it of the min over ends after it of the mean in between (Barlow 1972)."""
    values = np.unique(x)
    return np.array(
        [
            max(min(y[(x >= low) & (x <= high)].mean() for high in values if high >= at) for low in values if low <= at)
            for at in values
        ]
    )


@given(POINTS)
def test_it_is_the_max_min_formula(points):
    x, y = np.array(points, float).T
    np.testing.assert_allclose(isotonic_fit(x, y)(np.unique(x)), slow_fit(x, y), atol=1e-9)


@given(POINTS)
def test_it_never_falls_and_keeps_the_mean(points):
    x, y = np.array(points, float).T
    fit = isotonic_fit(x, y)
    assert (np.diff(fit(np.linspace(-10, 10, 200))) >= -1e-12).all()
    assert fit(x).mean() == pytest.approx(y.mean())
    assert (np.diff(fit.x) > 0).all() and fit.y.min() >= y.min() and fit.y.max() <= y.max()


def test_it_is_level_beyond_its_ends():
    fit = isotonic_fit(np.array([0.2, 0.8]), np.array([0.0, 1.0]))
    assert fit(np.array([-5, 0.2, 0.5, 0.8, 5])).tolist() == [0, 0, pytest.approx(0.5), 1, 1]


def test_a_level_stretch_has_two_knots_and_a_single_point_has_one():
    fit = isotonic_fit(np.arange(5.0), np.array([0.0, 0, 0, 1, 2]))
    assert (fit.x.tolist(), fit.y.tolist()) == ([0, 2, 3, 4], [0, 0, 1, 2])


@pytest.mark.parametrize(("x", "y"), [([], []), ([1.0], [1.0, 2.0]), ([np.nan], [1.0]), ([1.0], [np.inf])])
def test_what_has_no_fit_is_refused(x, y, unchecked):
    with pytest.raises(BadInput, match="equal numbers of finite x and y"):
        isotonic_fit(np.array(x, float), np.array(y, float))
