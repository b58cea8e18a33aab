"""Correlations and their intervals compared with scipy and with slow implementations."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from likewise.arrays.correlation import pearson, ranks, spearman
from likewise.errors import BadInput
from likewise.evaluate.statistics import bootstrap
from likewise.evaluate.statistics.bootstrap import STATISTICS, draw_counts, resample
from likewise.evaluate.statistics.significance import Interval, difference, interval, intervals, paired

SLOW = {
    "mean": lambda said, gold: said.mean(),
    "pearson": lambda said, gold: scipy.stats.pearsonr(said, gold).statistic,
    "spearman": lambda said, gold: scipy.stats.spearmanr(said, gold).statistic,
    "average_precision": lambda said, gold: average_precision_score(gold > 2, said),
}


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


@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_resample_has_the_figure_that_others_give_its_drawn_items(statistic):
    gold, fine, rough = noisy(n=40)
    truth = (gold > 2).astype(float) if statistic == "average_precision" else gold
    fast = resample(STATISTICS[statistic]([fine, rough], truth), 40, 30, np.random.default_rng(3))
    counts = np.concatenate(list(draw_counts(40, 30, np.random.default_rng(3))), axis=1)
    assert (counts.sum(0) == 40).all()
    for b, items in enumerate(np.repeat(np.arange(40), c) for c in counts.T):
        for side, predicted in enumerate((fine, rough)):
            assert fast[side, b] == pytest.approx(SLOW[statistic](predicted[items], gold[items]), abs=1e-12)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_with_groups_items_are_drawn_within_them_and_the_statistic_is_their_mean(statistic):
    gold, fine, _ = noisy(n=90)
    groups = np.repeat([4, 0, 2], 30)
    truth = (gold > 2).astype(float) if statistic == "average_precision" else gold
    result = intervals([fine], truth, groups, statistic=statistic, resamples=500)[0]
    parts = [SLOW[statistic](fine[groups == g], gold[groups == g]) for g in (0, 2, 4)]
    assert result.value == pytest.approx(np.mean(parts), abs=1e-12)
    shifted = fine + 100 * groups  # does not change a correlation within a group, but dominates one across groups
    if statistic in ("pearson", "spearman"):
        assert intervals([shifted], truth, groups, statistic=statistic, resamples=500)[0].low == pytest.approx(
            result.low, abs=1e-9
        )
    assert result.low < result.value < result.high


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12), st.sampled_from([*STATISTICS])
)
def test_few_items_with_many_ties_give_an_interval_or_none_and_never_an_error(pairs, statistic):
    predicted, gold = np.array(pairs, float).T
    result, p = paired(predicted, predicted[::-1].copy(), np.minimum(gold, 1), statistic=statistic, resamples=50)
    assert np.isnan(result.low) == np.isnan(result.high)
    assert 0 < p <= 1


def test_p_is_never_nothing_and_is_one_between_equals():
    gold, fine, rough = noisy()
    for shift in (0, 9):
        assert 0 < paired(fine, rough, gold - shift, statistic="spearman", resamples=99)[1] < 2 / 100
    assert paired(fine[:3] + 9, rough[:3], statistic="mean", resamples=99)[1] == 0.5**2
    assert paired(fine, fine, gold, statistic="spearman", resamples=99)[1] == 1


def test_where_there_is_no_difference_p_is_below_a_tenth_one_time_in_ten():
    random, low = np.random.default_rng(0), 0
    for seed in range(200):
        gold = random.normal(size=80)
        a, b = gold + random.normal(size=80), gold + random.normal(size=80)
        low += paired(a, b, gold, statistic="spearman", resamples=199, seed=seed)[1] <= 0.1
    assert 8 <= low <= 36  # 20 expected, four standard deviations


@pytest.mark.parametrize("bad", [np.array([1.0, np.nan, 2.0]), np.array([1.0, 2.0]), np.ones((3, 1))])
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_row_of_numbers_is_refused(bad):
    with pytest.raises(BadInput, match="a correlation needs"):
        spearman(bad, np.arange(3.0))


def test_an_unknown_statistic_missing_gold_and_no_resamples_are_refused():
    gold, fine, _ = noisy()
    with pytest.raises(BadInput, match="statistic is 'median'; expected one of mean, pearson"):
        intervals([fine], gold, statistic="median")
    with pytest.raises(BadInput, match="no gold"):
        intervals([fine], statistic="pearson")
    with pytest.raises(BadInput, match="resamples is 0; expected a whole number, 1 or more"):
        intervals([fine], gold, statistic="mean", resamples=0)


def test_an_interval_leaves_out_a_fortieth_on_either_side():
    gold, fine, rough = noisy(n=60)
    draws = resample(STATISTICS["spearman"]([fine, rough], gold), 60, 400, np.random.default_rng(2))
    how = {"resamples": 400, "seed": 2}
    expected = np.percentile(draws, [2.5, 97.5], axis=1).T
    result = intervals([fine, rough], gold, statistic="spearman", **how)
    np.testing.assert_allclose([(one.low, one.high) for one in result], expected, atol=1e-12)
    assert interval(fine, gold, **how) == result[0]
    between = difference(fine, rough, gold, **how)
    assert between == paired(fine, rough, gold, statistic="spearman", **how)[0]
    lead = np.percentile(draws[0] - draws[1], [2.5, 97.5])
    np.testing.assert_allclose((between.low, between.high), lead, atol=1e-12)


def test_resamples_are_drawn_in_blocks_of_65536_counts_so_that_a_seed_means_the_same_everywhere():
    random = np.random.default_rng(5)
    expected = []
    for size in (65, 1):  # 65 resamples of 1,000 items fit
        drawn = random.integers(1000, size=(1000, size), dtype=np.int32)
        expected.append(np.stack([np.bincount(column, minlength=1000) for column in drawn.T], axis=1))
    result = list(draw_counts(1000, 66, np.random.default_rng(5)))
    assert [block.tolist() for block in result] == [block.tolist() for block in expected]
    large = list(draw_counts(70_000, 2, np.random.default_rng(5)))
    assert [block.shape for block in large] == [(70_000, 1)] * 2


def test_a_correlation_is_undefined_only_where_its_squares_are_rounding_errors():
    squares = np.array([3e-14, 4e-14, 5e-14, 1.0, -1e-20])
    result = bootstrap._ratio(np.full(5, 1e-7), squares, np.full(5, 2.0))
    assert np.isnan(result).tolist() == [True, True, False, False, True]
    assert result[2:4] == pytest.approx([1e-7 / np.sqrt(5e-14), 1e-7])


def test_an_interval_is_shown_with_its_ends_and_has_half_its_width():
    assert str(Interval(0.5, 0.4, 0.75)) == "50.00 [40.00, 75.00]"
    assert Interval(0.5, 0.25, 0.75).half == 0.25


@pytest.mark.parametrize("ends", [(1.0, 1.0), (1 - 1e-12, 1 + 1e-12), (0, float("inf")), (float("nan"), float("nan"))])
def test_an_interval_without_width_is_not_printed(ends):
    assert str(Interval(1.0, *ends)) == "100.00" and Interval(1.0, *ends).format("+") == "+100.00"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_group_without_a_correlation_is_left_out_of_the_mean(count):
    gold, fine, _ = noisy(n=60)
    groups = np.arange(60) % 3
    constant = np.where(np.isin(groups, range(count)), 1.0, gold)
    result = intervals([fine], constant, groups, statistic="pearson", resamples=99)[0]
    left = [SLOW["pearson"](fine[groups == g], gold[groups == g]) for g in range(count, 3)]
    if not left:
        assert np.isnan([result.value, result.low, result.high]).all()
    else:
        assert result.value == pytest.approx(np.mean(left)) and result.low < result.value < result.high


def test_p_counts_the_resamples_whose_difference_is_nothing_or_has_the_other_sign():
    ours, theirs = np.array([1.0, 0, 1, 1, 0, 1]), np.array([0.0, 1, 1, 0, 0, 1])
    draws = resample(STATISTICS["mean"]([ours, theirs], None), 6, 50, np.random.default_rng(0))
    lead = draws[0] - draws[1]
    opposite = min((lead <= 1e-12).sum(), (lead >= -1e-12).sum())
    result = paired(ours, theirs, statistic="mean", resamples=50)[1]
    assert result == pytest.approx(2 * (opposite + 1) / 51) and 0.1 < result < 1
    assert paired(theirs, ours, statistic="mean", resamples=50)[1] == result


@pytest.mark.parametrize("scale", [1e-300, 1e-85, 1.0, 1e80, 1e300])
@pytest.mark.parametrize("correlate", [pearson, spearman])
def test_a_correlation_does_not_depend_on_the_unit(correlate, scale):
    gold, fine, rough = noisy()
    assert correlate(scale * fine, gold) == pytest.approx(correlate(fine, gold), abs=1e-12)
    assert correlate(fine, scale * rough) == pytest.approx(correlate(fine, rough), abs=1e-12)
    whole = STATISTICS["pearson"]([scale * fine], scale * gold)(np.ones((200, 1), np.int64))
    assert whole[0, 0] == pytest.approx(pearson(fine, gold), abs=1e-12)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e80, 1e-85, 0.0, -7.3])
@pytest.mark.parametrize("count", [3, 7, 10, 1000])
@pytest.mark.parametrize("correlate", [pearson, spearman])
def test_equal_numbers_have_no_correlation_however_their_mean_is_rounded(correlate, value, count):
    other = np.arange(float(count))
    assert np.isnan(correlate(np.full(count, value), other)) and np.isnan(correlate(other, np.full(count, value)))
    for rows, gold in (([np.full(count, value)], other), ([other], np.full(count, value))):
        assert np.isnan(STATISTICS["pearson"](rows, gold)(np.ones((count, 1), np.int64))).all()


def test_a_group_that_one_side_has_no_figure_in_is_left_out_for_both_and_that_is_said():
    gold, fine, rough = noisy(n=90)
    groups = np.arange(90) % 3
    flat = np.where(groups == 0, 0.1, rough)
    with pytest.warns(
        UserWarning, match="left out for both models: 1 group of 3, because pearson is undefined for one"
    ):
        lead, _ = paired(fine, flat, gold, groups, statistic="pearson", resamples=99)
    kept = groups > 0
    alone, _ = paired(fine[kept], flat[kept], gold[kept], groups[kept], statistic="pearson", resamples=99)
    assert lead.value == pytest.approx(alone.value)
    with pytest.warns(UserWarning, match="left out for both models"):
        same, _ = paired(flat, flat, gold, groups, statistic="pearson", resamples=99)
    assert (same.value, same.low, same.high) == (0, 0, 0)


def test_beyond_the_resamples_p_is_a_t_tests_and_never_below_that_of_the_sign_test():
    random = np.random.default_rng(0)
    for lead, items in ((0.5, 400), (1.0, 60)):
        ours, theirs = random.normal(lead, 1, items), random.normal(0, 1, items)
        p = paired(ours, theirs, statistic="mean", resamples=200)[1]
        wanted = scipy.stats.ttest_rel(ours, theirs).pvalue
        assert p < 1e-3 and abs(np.log10(p / wanted)) < 0.25 * -np.log10(wanted)
        (a, b), difference = (
            resample(STATISTICS["mean"]([ours, theirs], None), items, 200, np.random.default_rng(0)),
            ours.mean() - theirs.mean(),
        )
        assert p == pytest.approx(2 * scipy.stats.t.sf(difference / (a - b).std(ddof=1), items - 1))
    one, two = (paired(ours, theirs, statistic="mean", resamples=resamples)[1] for resamples in (1, 2))
    assert one == 1 and two < 0.5
    always = paired(np.arange(8.0) + 3, np.arange(8.0), statistic="mean", resamples=50)[1]
    assert always == 0.5**7
    for positive in (3, 9):  # like the sign test of the positive items
        hits = np.array([1.0] * positive + [0.0] * 37)
        assert paired(hits, -hits, hits, statistic="average_precision", resamples=50)[1] == 0.5 ** (positive - 1)


@pytest.mark.parametrize(("better", "ties", "p"), [(1, 0, 1), (2, 0, 0.5), (3, 1000, 0.25), (5, 1000, 0.0625)])
def test_a_few_items_prove_nothing_however_many_are_equal(better, ties, p):
    ours, theirs = np.array([1.0] * better + [0.0] * ties), np.zeros(better + ties)
    assert paired(ours, theirs, statistic="mean", resamples=2000)[1] == p


def test_two_groups_count_equally():
    values, groups = np.array([1.0, 1, 1, 4]), np.array([0, 0, 0, 1])
    result = intervals([values], None, groups, statistic="mean", resamples=9)[0]
    assert (result.value, result.low, result.high) == (2.5, 2.5, 2.5)
