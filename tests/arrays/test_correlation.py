"""Correlations are scipy's, and stay within their bounds."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.correlation import pearson, ranks, spearman
from likewise.errors import BadInput

PAIRS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=9)


def test_rounding_takes_no_correlation_beyond_1():
    draw = np.random.default_rng(0)
    found = [pearson(x, sign * 3.3 * x + 1) for x in draw.normal(size=(500, 5)) for sign in (-1, 1)]
    assert max(found) == 1 and min(found) == -1


@given(PAIRS, st.sampled_from([1e-200, 1.0, 1e200]))
@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
def test_correlations_are_those_of_scipy_at_any_scale(pairs, scale):
    x, y = np.array(pairs, float).T
    assert ranks(x * scale).tolist() == scipy.stats.rankdata(x).tolist()
    for ours, theirs in ((pearson, scipy.stats.pearsonr), (spearman, scipy.stats.spearmanr)):
        found, wanted = ours(x * scale, y * scale), float(theirs(x, y)[0])
        assert found == pytest.approx(wanted, abs=1e-12) or (math.isnan(found) and math.isnan(wanted))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("correlation", [pearson, spearman])
def test_what_has_no_correlation_is_refused(correlation):
    for x, y in (([1.0], [2.0]), ([], []), ([1.0, 2], [1.0, 2, 3]), ([[1.0, 2]], [[1.0, 2]])):
        with pytest.raises(BadInput, match="two sequences of the same length, 2 or more"):
            correlation(np.array(x), np.array(y))
    for odd in (np.nan, np.inf):
        with pytest.raises(BadInput, match=f"found {odd} at position 1"):
            correlation(np.array([1.0, 2, 3]), np.array([1, odd, odd]))
