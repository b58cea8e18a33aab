"""Two models on one task: the evidence determines which tests apply, and the verdict."""

import numpy as np
import pytest

from likewise.arrays.correlation import spearman
from likewise.errors import BadInput
from likewise.evaluate.statistics.comparison import (
    ALPHA,
    Comparison,
    comparable,
    compare,
    estimate,
    estimates,
    holm_adjusted,
)
from likewise.evaluate.statistics.hypothesis_tests import williams
from likewise.evaluate.statistics.significance import Interval, intervals, paired
from likewise.evaluate.task import Evidence

GOLD = np.random.default_rng(0).normal(size=300)
NOISE = np.random.default_rng(1).normal(size=(2, 300))
FINE, ROUGH = GOLD + NOISE[0], GOLD + 3 * NOISE[1]


def correlated(predicted, **how):
    return Evidence(predicted, GOLD, statistic="spearman", **how)


def test_a_better_model_is_named_and_all_tests_agree():
    result = compare(correlated(FINE), correlated(ROUGH), resamples=999)
    assert result.verdict("fine", "rough") == "fine is better"
    assert set(result.tests) == {"williams", "steiger"}
    assert max(result.tests.values()) < 0.01
    other = compare(correlated(ROUGH), correlated(FINE), resamples=999)
    assert other.verdict("rough", "fine") == "fine is better"
    assert other.difference.value == -result.difference.value


def test_right_and_wrong_are_compared_by_mcnemar():
    random = np.random.default_rng(0)
    often, seldom = (random.random(400) < share for share in (0.9, 0.6))
    result = compare(Evidence(often.astype(float)), Evidence(seldom.astype(float)), resamples=999)
    assert result.tests["mcnemar"] < 1e-6
    assert result.significant


def test_groups_and_other_means_have_the_bootstrap_alone():
    groups = np.arange(300) % 3
    assert compare(correlated(FINE, groups=groups), correlated(ROUGH, groups=groups), resamples=99).tests == {}
    assert compare(Evidence(FINE), Evidence(ROUGH), resamples=99).tests == {}


def test_holm_takes_back_what_only_many_tries_made_sure():
    one = compare(Evidence(FINE[:6] + 9), Evidence(ROUGH[:6]), resamples=39)
    assert one.p == 0.5**5
    assert one.adjusted == one.p
    assert [c.adjusted for c in holm_adjusted([one, one])] == [0.5**4] * 2


@pytest.mark.parametrize(
    "other",
    [
        Evidence(FINE[:200], GOLD[:200], np.arange(200) % 2, statistic="spearman"),
        Evidence(FINE, GOLD, np.arange(300) % 2, statistic="pearson"),
        Evidence(FINE, GOLD[::-1].copy(), np.arange(300) % 2, statistic="spearman"),
        Evidence(FINE, statistic="spearman"),
        Evidence(FINE, GOLD, np.arange(300) % 3, statistic="spearman"),
        Evidence(FINE, GOLD, statistic="spearman"),
    ],
)
def test_other_items_or_groups_cannot_be_compared(other):
    one = correlated(FINE, groups=np.arange(300) % 2)
    assert comparable(one, correlated(ROUGH, groups=np.arange(300) % 2))
    assert not comparable(other, one)
    with pytest.raises(BadInput, match="same items"):
        compare(one, other)


def test_intervals_of_many_scores_are_those_of_each_alone():
    many = [correlated(FINE), Evidence(FINE, GOLD, statistic="pearson"), correlated(ROUGH), Evidence(ROUGH)]
    assert estimates(many, resamples=200) == [estimate(one, resamples=200) for one in many]


@pytest.mark.parametrize(
    ("difference", "adjusted", "verdict"),
    [
        (Interval(0.1, 0.05, 0.2), 0.049, "a is better"),
        (Interval(-0.1, -0.2, -0.05), 0.049, "b is better"),
        (Interval(0.1, 0.05, 0.2), ALPHA, "no significant difference"),
        (Interval(np.nan, 0.05, 0.2), 0.001, "not comparable"),
        (Interval(0.1, np.nan, np.nan), 0.001, "not comparable"),
        (Interval(0.1, 0.05, np.inf), 0.001, "not comparable"),
    ],
)
def test_a_verdict_needs_an_adjusted_p_below_a_twentieth(difference, adjusted, verdict):
    result = Comparison(difference, 0.001, {}, adjusted)
    assert ALPHA == 0.05 and result.verdict("a", "b") == verdict
    assert result.as_dict()["significant"] is verdict.endswith("better")
    assert result.as_dict()["difference"] == vars(difference) or not result.valid


def test_correlations_are_tested_from_four_items_on():
    def tests(n):
        gold, ours, theirs = np.array([[1.0, 2, 3, 4, 5], [1, 3, 2, 5, 4], [2, 1, 5, 3, 4]])[:, :n]
        rows = (Evidence(row, gold, statistic="pearson") for row in (ours, theirs))
        return compare(*rows, resamples=9).tests

    assert tests(3) == {} and set(tests(4)) == {"williams", "steiger"}


def test_what_has_no_correlation_has_no_test_and_is_not_comparable():
    result = compare(correlated(FINE), correlated(np.ones(300)), resamples=9)
    assert result.tests == {} and not result.valid and result.verdict("a", "b") == "not comparable"


def test_perfect_correlations_are_tested_in_spite_of_rounding():
    """Both are 1, or slightly more because of rounding."""
    for scale in (0.1, 0.3, 0.7, 1.1, 1e-3, 3e5):
        rows = (Evidence(sign * scale * GOLD, GOLD, statistic="pearson") for sign in (1, -1))
        first = compare(*rows, resamples=9).tests
        assert first["steiger"] == 0 and first["williams"] <= 1


def test_the_tests_know_which_model_is_which():
    result = compare(correlated(FINE), correlated(ROUGH), resamples=9)
    expected = williams(spearman(FINE, GOLD), spearman(ROUGH, GOLD), spearman(FINE, ROUGH), 300)
    assert result.tests["williams"] == expected.p


def test_right_and_wrong_are_ones_and_zeros_alone():
    ones = np.array([0.0, 1.0, 1.0, 0.0])
    assert compare(Evidence(ones), Evidence(1 - ones), resamples=9).tests == {"mcnemar": 1.0}
    for other in (np.array([0.0, 1.0, 2.0, 0.0]), np.array([0.0, 0.5, 1.0, 1.0])):
        assert compare(Evidence(ones), Evidence(other), resamples=9).tests == {}
        assert compare(Evidence(other), Evidence(ones), resamples=9).tests == {}


def test_resamples_and_seed_are_passed_on():
    ours, theirs = Evidence(FINE[:20]), Evidence(ROUGH[:20])
    for how in ({"resamples": 99}, {"resamples": 98}, {"resamples": 99, "seed": 1}):
        assert estimate(ours, **how) == intervals([ours.values], statistic="mean", **how)[0]
        found = compare(ours, theirs, **how)
        assert (found.difference, found.p) == paired(ours.values, theirs.values, statistic="mean", **how)
