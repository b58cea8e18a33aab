"""The cut-off at a false discovery rate (Benjamini and Hochberg), over all comparisons, not only those shown."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from likewise.calibrate import Calibration, CutOff, NullDistribution, cut_off, least_cosine
from likewise.calibrate.false_discovery import rejections
from likewise.errors import BadInput
from likewise.search.index import ModelIdentity

RANDOM = np.random.default_rng(0)
CALIBRATION = Calibration(
    ModelIdentity("m", "f" * 32), NullDistribution.of(RANDOM.normal(0.1, 0.1, 100_000)), texts=500
)


@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=60), st.floats(0.01, 0.5))
def test_rejections_are_those_of_scipy(p, fdr):
    p = np.sort(np.array(p))
    assert rejections(p, len(p), fdr) in {
        int((false_discovery_control(p) <= level).sum()) for level in (fdr * (1 - 1e-9), fdr * (1 + 1e-9))
    }


def test_a_p_value_that_is_exactly_at_the_rate_is_rejected():
    assert [rejections(np.array(p), 2, 0.5) for p in ([0.25], [0.26], [0.3, 0.5], [0.3, 0.51])] == [1, 0, 2, 0]


def test_the_share_of_chance_pairs_among_discoveries_stays_below_the_rate():
    shares = []
    for _ in range(60):
        chance, related = RANDOM.normal(0.1, 0.1, 5000), RANDOM.normal(0.6, 0.1, 200)
        cut = cut_off(CALIBRATION, np.concatenate([chance, related]), comparisons=5200, fdr=0.1)
        assert cut.discoveries == (chance >= cut.cosine).sum() + (related >= cut.cosine).sum()
        shares.append((chance >= cut.cosine).sum() / max(1, cut.discoveries))
    error = np.std(shares) / np.sqrt(len(shares))
    assert 0.05 < np.mean(shares) < 0.1 + 3 * error


def test_among_chance_pairs_alone_there_is_rarely_a_discovery():
    found = [cut_off(CALIBRATION, RANDOM.normal(0.1, 0.1, 2000), comparisons=2000, fdr=0.05) for _ in range(100)]
    assert sum(cut.discoveries > 0 for cut in found) <= 12
    nothing = next(cut for cut in found if not cut.discoveries)
    assert (nothing.cosine, nothing.p, nothing.extrapolated) == (np.inf, 0.0, False)


def test_comparisons_that_are_not_shown_count():
    cosines = np.array([0.6, 0.0, 0.62])
    p = float(CALIBRATION.p_values(np.array(0.6)))
    assert cut_off(CALIBRATION, cosines, comparisons=100, fdr=0.05) == CutOff(0.6, 2, 100, 0.05, p, True)
    assert cut_off(CALIBRATION, cosines, comparisons=10**9, fdr=0.05).discoveries == 0


def test_the_best_cosines_alone_give_the_cut_off_of_all():
    for fdr in (0.01, 0.1, 0.3):
        cosines = np.concatenate([RANDOM.normal(0.1, 0.1, 20_000), RANDOM.normal(0.5, 0.1, 300)])
        whole = cut_off(CALIBRATION, cosines, comparisons=len(cosines), fdr=fdr)
        bound = least_cosine(CALIBRATION, comparisons=len(cosines), fdr=fdr, most=1000)
        some = cosines[cosines >= bound]
        assert whole.discoveries < 1000 and len(some) < len(cosines)
        assert cut_off(CALIBRATION, some, comparisons=len(cosines), fdr=fdr) == whole
    bounds = [least_cosine(CALIBRATION, comparisons=100, fdr=0.1, most=most) for most in (1, 10, 99)]
    assert bounds == sorted(bounds, reverse=True) and len(set(bounds)) == 3
    few = least_cosine(CALIBRATION, comparisons=100, fdr=0.1, most=1000)  # more than the number of comparisons
    assert few == CALIBRATION.chance.cosine_at(0.1)


@pytest.mark.parametrize("copies", [1, 20])
def test_a_few_copies_are_found_in_the_very_texts_that_were_calibrated(copies):
    chance, related = RANDOM.normal(0.1, 0.1, 100_000 - copies), RANDOM.uniform(0.9, 1.0, copies)
    cosines = np.concatenate([chance, related])
    own = replace(CALIBRATION, chance=NullDistribution.of(cosines))
    assert cut_off(own, cosines, comparisons=len(cosines), fdr=0.05).discoveries == pytest.approx(copies, abs=3)


@pytest.mark.parametrize("pairs", [2000, 4000, 5000, 8000, 9000])
@pytest.mark.parametrize(("beyond", "extrapolated"), [(0.0, False), (1e-6, True)])
def test_the_last_quantile_is_counted_and_what_is_beyond_it_is_not(pairs, beyond, extrapolated):
    chance = NullDistribution.of(np.random.default_rng(pairs).normal(0.1, 0.1, pairs))
    found = cut_off(
        replace(CALIBRATION, chance=chance), np.full(50, chance.tail_from + beyond), comparisons=51, fdr=0.2
    )
    assert (found.discoveries, found.extrapolated) == (50, extrapolated)


@pytest.mark.parametrize(
    ("comparisons", "fdr", "message"),
    [
        (10, 0.0, "fdr is 0.0; expected a rate above 0"),
        (10, 1.0, "fdr is 1.0"),
        (10, float("nan"), "fdr is nan"),
        (1, 0.1, "cosines has 2 entries, but comparisons is 1"),
        (-1, 0.1, "comparisons is -1"),
    ],
)
def test_impossible_numbers_are_refused(comparisons, fdr, message):
    with pytest.raises(BadInput, match=message):
        cut_off(CALIBRATION, np.array([0.1, 0.2]), comparisons=comparisons, fdr=fdr)


def test_no_pairs_at_all_give_no_discovery():
    assert cut_off(CALIBRATION, np.empty(0), comparisons=0, fdr=0.05).discoveries == 0
