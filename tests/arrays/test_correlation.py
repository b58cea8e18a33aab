"""Correlations stay within their bounds."""

import numpy as np

from likewise.arrays.correlation import pearson


def test_rounding_takes_no_correlation_beyond_1():
    draw = np.random.default_rng(0)
    found = [pearson(x, sign * 3.3 * x + 1) for x in draw.normal(size=(500, 5)) for sign in (-1, 1)]
    assert max(found) == 1 and min(found) == -1
