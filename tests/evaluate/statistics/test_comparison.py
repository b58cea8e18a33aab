"""Two models on one task: the evidence decides which tests apply, and what is said."""

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.evaluate.statistics.comparison import compare, estimate, estimates, holm_adjusted
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


def test_equals_are_not_told_apart():
    assert compare(correlated(FINE), correlated(FINE), resamples=99).verdict("a", "b") == "no significant difference"


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
    one = compare(correlated(FINE), correlated(ROUGH), resamples=39)
    assert one.p == 2 / 40
    assert one.adjusted == one.p
    assert [c.adjusted for c in holm_adjusted([one, one])] == pytest.approx([0.1, 0.1])


@pytest.mark.parametrize(
    "other",
    [
        Evidence(FINE[:200], GOLD[:200], statistic="spearman"),
        Evidence(FINE, GOLD, statistic="pearson"),
        Evidence(FINE, GOLD[::-1].copy(), statistic="spearman"),
        Evidence(FINE, GOLD, np.arange(300) % 2, statistic="spearman"),
    ],
)
def test_other_items_cannot_be_compared(other):
    with pytest.raises(BadInput, match="same items"):
        compare(correlated(FINE), other)


def test_intervals_of_many_scores_are_those_of_each_alone():
    many = [correlated(FINE), Evidence(FINE, GOLD, statistic="pearson"), correlated(ROUGH), Evidence(ROUGH)]
    assert estimates(many, resamples=200) == [estimate(one, resamples=200) for one in many]
