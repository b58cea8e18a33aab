"""Means over tasks that share items."""

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.evaluate.statistics.comparison import compare, estimate
from likewise.evaluate.task import Evidence

from ...measuring.mean_interval import mean_interval

RANDOM = np.random.default_rng(0)
ITEMS = np.arange(400)
FEWER = {"resamples": 2000}


def test_tasks_of_the_same_items_have_the_interval_of_one_and_tasks_of_others_a_narrower_one():
    values = RANDOM.normal(size=400)
    one = estimate(Evidence(values), resamples=2000)
    same = mean_interval([Evidence(values, items=ITEMS)] * 4, **FEWER)
    others = mean_interval([Evidence(values, items=ITEMS + 400 * i) for i in range(4)], **FEWER)
    unknown = mean_interval([Evidence(values)] * 4, **FEWER)
    assert same.value == pytest.approx(one.value) == others.value
    assert same.half == pytest.approx(one.half, rel=0.05)
    assert others.half == pytest.approx(one.half / 2, rel=0.05) and unknown.half == pytest.approx(others.half, rel=0.05)


@pytest.mark.parametrize("shared", [0, 100, 300, 400])
def test_the_variance_of_a_mean_is_the_known_one_at_any_overlap(shared):
    """Of values of variance 1 it is (1/n + 1/n + 2 shared/n²) / 4."""
    values = RANDOM.normal(size=800 - shared)
    values = (values - values.mean()) / values.std()
    first, second = np.arange(400), np.arange(400 - shared, 800 - shared)
    found = mean_interval([Evidence(values[at], items=at) for at in (first, second)], **FEWER)
    known = np.sqrt((2 / 400 + 2 * shared / 400**2) / 4)
    assert found.half == pytest.approx(1.96 * known, rel=0.07)


def test_correlations_over_groups_and_an_item_twice_in_one_task_are_drawn_jointly_too():
    gold = RANDOM.normal(size=400)
    row = Evidence(gold + RANDOM.normal(size=400), gold, ITEMS % 2, "pearson", ITEMS)
    alone, pair = (mean_interval([row] * count, **FEWER) for count in (1, 2))
    assert alone == pair and alone.half == pytest.approx(estimate(row, resamples=2000).half, rel=0.08)
    twice = Evidence(np.tile(gold, 2), items=np.tile(ITEMS, 2))
    assert mean_interval([twice], **FEWER).half == pytest.approx(
        2**0.5 * mean_interval([Evidence(twice.values)], **FEWER).half, rel=0.06
    )


def test_the_mean_of_differences_is_that_of_paired_models_on_the_same_items():
    gold = RANDOM.normal(size=400)
    fine, rough = (Evidence(gold + n * RANDOM.normal(size=400), gold, None, "spearman", ITEMS) for n in (0.5, 2))
    found = mean_interval([fine, fine], [rough, rough], **FEWER)
    wanted = compare(fine, rough, resamples=2000).difference
    assert found.value == pytest.approx(wanted.value) and found.half == pytest.approx(wanted.half, rel=0.06)
    same = mean_interval([fine], [fine], **FEWER)
    assert (same.value, same.low, same.high) == (0, 0, 0)
    with pytest.raises(BadInput, match="only evidence on the same items can be compared, task by task"):
        mean_interval([fine], [Evidence(gold)])
