"""Tests of two models compared with published examples, with scipy, and under a simulated null hypothesis."""

import math

import numpy as np
import pytest
import scipy.stats

from likewise.errors import BadInput
from likewise.evaluate.statistics.hypothesis_tests import (
    holm,
    mcnemar,
    steiger,
    two_sided,
    williams,
)


@pytest.mark.parametrize("freedom", [1, 2, 9, 67, 4924])
def test_students_t_is_scipys(freedom):
    for t in (0, 1e-3, 0.5, 1.96, -3, 30):
        assert two_sided(t, freedom) == pytest.approx(2 * scipy.stats.t.sf(abs(t), freedom), rel=1e-8)


@pytest.mark.parametrize(
    ("ours", "theirs", "between", "n", "t", "z"),
    [  # as printed by R's cocor 1.1 for correlations with four digits, so t and z agree to the third digit
        (-0.1741, 0.2015, 0.3734, 646, -9.0340, -8.6124),
        (0.8066, 0.2383, 0.2255, 177, 9.3823, 8.5460),
        (0.5447, 0.8000, 0.0729, 70, -2.8114, None),
        (0.40, 0.50, 0.10, 103, -0.89, None),  # from the help page of psych's r.test, with two digits
    ],
)
def test_williams_and_steiger_give_values_printed_elsewhere(ours, theirs, between, n, t, z):
    assert williams(ours, theirs, between, n).statistic == pytest.approx(t, abs=2e-3)
    if z is not None:
        assert steiger(ours, theirs, between, n).statistic == pytest.approx(z, abs=2e-3)


def test_mcnemar_is_the_binomial_test_of_the_items_where_one_is_right():
    random = np.random.default_rng(0)
    for n in (1, 5, 300):
        ours, theirs = random.integers(2, size=(2, n))
        b, c = ((ours > theirs).sum(), (ours < theirs).sum())
        expected = scipy.stats.binomtest(int(b), int(b + c)).pvalue if b + c else 1.0
        assert mcnemar(ours, theirs).p == pytest.approx(expected, rel=1e-9)
        assert mcnemar(ours, theirs).statistic == b - c


def test_holm_steps_down_and_keeps_the_order_given():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([]) == []


def test_students_t_at_its_ends():
    assert two_sided(float("inf"), 3) == two_sided(float("-inf"), 3) == 0
    assert two_sided(1e200, 3) == 0  # whose square is infinite
    assert two_sided(0.0, 3) == 1 and np.isnan(two_sided(float("nan"), 3))


def slow_williams(a, b, between, n):
    """Equation 7 of Steiger 1980, written out."""
    determinant = 1 - a * a - b * b - between * between + 2 * a * b * between
    mean = (a + b) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean * mean * (1 - between) ** 3
    t = (a - b) * math.sqrt((n - 1) * (1 + between) / below)
    return t, 2 * scipy.stats.t.sf(abs(t), n - 3)


def slow_steiger(a, b, between, n):
    """Equations 3, 11 and 14 of Steiger 1980, written out."""
    r = (a + b) / 2
    psi = between * (1 - 2 * r * r) - r * r * (1 - 2 * r * r - between * between) / 2
    z = math.sqrt(n - 3) * (np.arctanh(a) - np.arctanh(b)) / math.sqrt(2 - 2 * psi / (1 - r * r) ** 2)
    return z, 2 * scipy.stats.norm.sf(abs(z))


@pytest.mark.parametrize(
    "given", [(0.9, 0.2, 0.3, 4), (0.9, 0.2, 0.3, 5), (0.2, 0.9, 0.3, 6), (0.8, 0.75, 0.95, 40), (-0.3, 0.1, -0.2, 12)]
)
def test_williams_and_steiger_are_their_equations_for_few_items_too(given):
    for test, slow in ((williams, slow_williams), (steiger, slow_steiger)):
        result = test(*given)
        assert (result.statistic, result.p) == pytest.approx(slow(*given), rel=1e-9)


@pytest.mark.parametrize(
    ("test", "given", "statistic"),
    [  # if the denominator is 0 or a correlation is perfect
        (williams, (0.5, -0.5, 0.5, 30), math.inf),
        (williams, (-0.5, 0.5, 0.5, 30), -math.inf),
        (williams, (1.0, -1.0, -1.0, 30), 0.0),
        (williams, (0.7, 0.7, 1.0, 100), 0.0),
        (steiger, (1.0, 1.0, 1.0, 100), 0.0),
        (steiger, (1.0, 0.5, 0.5, 30), math.inf),
        (steiger, (-1.0, 0.5, 0.5, 30), -math.inf),
        (steiger, (0.5, -1.0, 0.5, 30), math.inf),
    ],
)
def test_a_perfect_correlation_differs_beyond_doubt_or_not_at_all(test, given, statistic):
    result = test(*given)
    assert result.statistic == statistic and result.p == (0 if statistic else 1)


@pytest.mark.parametrize("test", [williams, steiger])
def test_correlations_are_between_minus_one_and_one_and_of_four_items_or_more(test):
    for place in range(3):
        for end in (-1.0, 1.0):
            given = [0.1, 0.2, 0.3]
            given[place] = end
            assert 0 <= test(*given, 30).p <= 1
            given[place] = 1.001 * end
            with pytest.raises(BadInput, match="correlations must be between −1 and 1; found .*1.001"):
                test(*given, 30)
    with pytest.raises(BadInput, match="needs at least 4 items; there are 3"):
        test(0.1, 0.2, 0.3, 3)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("rows", [np.ones((2, 2)), np.ones((1, 3)), np.array([0.5, float("nan")])])
def test_what_is_no_row_of_right_and_wrong_is_refused(rows):
    for ours, theirs in ((rows, rows), (np.array([0, 2]), np.array([0, 1])), (np.array([0, 1, 1]), np.array([0, 1]))):
        with pytest.raises(BadInput, match="McNemar's test needs two sequences of 0s and 1s of the same length"):
            mcnemar(ours, theirs)
        with pytest.raises(BadInput, match="McNemar's test needs two sequences of 0s and 1s of the same length"):
            mcnemar(theirs, ours)


@pytest.mark.parametrize(("ours", "theirs", "p"), [(0, 0, 1.0), (1, 0, 1.0), (2, 0, 0.5), (3, 0, 0.25), (3, 1, 0.625)])
def test_few_items_on_which_models_differ_prove_little(ours, theirs, p):
    right = np.array([1] * ours + [0] * theirs + [1, 0])
    other = np.array([0] * ours + [1] * theirs + [1, 0])
    assert mcnemar(right, other).p == p and mcnemar(right, other).statistic == ours - theirs
