"""The spread over seeds, beside scipy."""

import math

import numpy as np
import pytest
import scipy.stats

from likewise.errors import BadInput

from ...reporting.spread import over_seeds, quantile


@pytest.mark.parametrize("freedom", [1, 2, 4, 9, 67, 4924])
def test_quantiles_are_scipys(freedom):
    for level in (0.1, 0.5, 0.9, 0.95, 0.999):
        assert quantile(level, freedom) == pytest.approx(scipy.stats.t.ppf((1 + level) / 2, freedom), rel=1e-9)


def test_the_spread_over_seeds_is_students():
    result = over_seeds([0.84, 0.85, 0.86, 0.83])
    low, high = scipy.stats.t.interval(0.95, 3, 0.845, scipy.stats.sem([0.84, 0.85, 0.86, 0.83]))
    assert (result.low, result.high) == pytest.approx((low, high))
    assert str(result) == "84.50 ± 1.29 (4 seeds)"


def test_a_spread_needs_two_seeds_and_no_more():
    result = over_seeds([0.5, 0.7])
    half = scipy.stats.t.ppf(0.975, 1) * 0.1
    assert (result.mean, result.low, result.high) == pytest.approx((0.6, 0.6 - half, 0.6 + half))
    assert result.sd == pytest.approx(math.sqrt(0.02)) and result.count == 2
    narrow = over_seeds([0.5, 0.7], level=0.5)
    assert narrow.high == pytest.approx(0.6 + scipy.stats.t.ppf(0.75, 1) * 0.1)
    with pytest.raises(BadInput, match=r"at least two finite numbers; got \[0.5\]"):
        over_seeds([0.5])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("rows", [np.ones((2, 2)), np.ones((1, 3)), np.array([0.5, float("nan")])])
def test_what_is_no_row_of_seeds_is_refused(rows):
    with pytest.raises(BadInput, match="at least two finite numbers"):
        over_seeds(rows)
