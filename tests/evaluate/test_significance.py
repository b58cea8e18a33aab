"""Correlations and their intervals, beside scipy and beside the slow way."""

import numpy as np
import pytest
import scipy.stats

from likewise.correlation import pearson, ranks, spearman
from likewise.errors import BadInput
from likewise.evaluate.significance import _resampled, _spearmans, difference, interval


def noisy(n=200, seed=0, levels=6):
    random = np.random.default_rng(seed)
    gold = random.integers(levels, size=n).astype(float)
    return gold, gold + random.normal(size=n), np.round(gold + 3 * random.normal(size=n))


@pytest.mark.parametrize("seed", range(5))
def test_correlations_and_ranks_are_those_of_scipy_ties_included(seed):
    gold, _, rough = noisy(seed=seed)
    np.testing.assert_allclose(ranks(rough), scipy.stats.rankdata(rough))
    assert spearman(rough, gold) == pytest.approx(scipy.stats.spearmanr(rough, gold).statistic, abs=1e-12)
    assert pearson(rough, gold) == pytest.approx(scipy.stats.pearsonr(rough, gold).statistic, abs=1e-12)


def test_every_resample_has_the_spearman_that_scipy_gives_its_drawn_pairs():
    gold, fine, rough = noisy(n=40)
    fast = _spearmans([fine, rough], gold, 30, seed=3)
    counts = np.concatenate(list(_resampled(40, 30, seed=3)))
    for b, drawn in enumerate(np.repeat(np.arange(40), c) for c in counts):
        for side, said in enumerate((fine, rough)):
            assert fast[side, b] == pytest.approx(scipy.stats.spearmanr(said[drawn], gold[drawn]).statistic, abs=1e-12)


def test_an_interval_is_near_scipys_bootstrap():
    gold, fine, _ = noisy()
    theirs = scipy.stats.bootstrap(
        (fine, gold),
        lambda a, b: scipy.stats.spearmanr(a, b).statistic,
        paired=True,
        n_resamples=999,
        method="percentile",
        vectorized=False,
        rng=np.random.default_rng(0),
    ).confidence_interval
    ours = interval(fine, gold)
    assert ours.low < ours.value < ours.high
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_the_difference_of_a_thing_from_itself_is_nothing_and_a_real_one_is_seen():
    gold, fine, rough = noisy()
    same = difference(fine, fine, gold)
    assert (same.value, same.low, same.high) == (0, 0, 0)
    assert difference(fine, rough, gold).low > 0 > difference(rough, fine, gold).high


def test_a_seed_gives_the_same_interval_and_another_seed_another():
    gold, fine, _ = noisy()
    assert interval(fine, gold, seed=1) == interval(fine, gold, seed=1) != interval(fine, gold, seed=2)


def test_a_constant_side_has_no_correlation():
    assert np.isnan(spearman(np.ones(5), np.arange(5.0)))


@pytest.mark.parametrize("bad", [np.array([1.0, np.nan, 2.0]), np.array([1.0, 2.0]), np.ones((3, 1))])
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_row_of_numbers_is_refused(bad):
    with pytest.raises(BadInput, match="a correlation wants"):
        spearman(bad, np.arange(3.0))
