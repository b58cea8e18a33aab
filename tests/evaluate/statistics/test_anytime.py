"""Betting: capital, confidence sequences and paired evidence are valid at any time."""

import numpy as np
import pytest

from likewise.evaluate.statistics.anytime import BETS, PairedBets, confidence_sequence, log_capital


def test_the_capital_is_what_a_gambler_has_after_betting_item_by_item():
    values, mean = np.array([0.2, 1.3, 0.0, 0.9]), 0.7
    capital = np.ones(len(BETS))
    for value in values:
        capital = capital * (1 - BETS) + capital * BETS * value / mean
    assert log_capital(values, mean) == pytest.approx(np.log(capital.mean()))


def test_the_bets_are_eight_shares_from_a_fiftieth_to_nearly_all_each_larger_by_the_same_factor():
    assert len(BETS) == 8 and BETS[[0, -1]] == pytest.approx([0.02, 0.95])
    assert BETS[1:] / BETS[:-1] == pytest.approx(np.full(7, (0.95 / 0.02) ** (1 / 7)))


def test_the_capital_falls_as_the_mean_that_is_bet_against_grows():
    values = np.random.default_rng(0).random(50)
    capitals = [log_capital(values, mean) for mean in np.linspace(0.01, 1, 40)]
    assert capitals == sorted(capitals, reverse=True) and capitals[0] > 0 > capitals[-1]


@pytest.mark.parametrize("chance", [0.02, 0.5, 0.9])
def test_the_capital_against_the_true_mean_rarely_reaches_the_threshold_at_any_of_many_looks(chance):
    """An interval misses the mean exactly when this capital, or that of the mirrored values, reaches the threshold."""
    random, misses = np.random.default_rng(1), 0
    for _ in range(100):
        values = (random.random(300) < chance).astype(float)
        looks = (5, 10, 20, 40, 80, 150, 300)
        sides = (values, chance), (1 - values, 1 - chance)
        misses += max(log_capital(side[:n], mean) for n in looks for side, mean in sides) >= np.log(2 / 0.05)
    assert misses <= 5


def test_an_interval_ends_where_the_capital_reaches_the_threshold():
    values = np.random.default_rng(6).random(100)
    found = confidence_sequence(values, 0, 1)
    assert log_capital(values, found.low) == pytest.approx(np.log(2 / 0.05), abs=1e-6)
    assert log_capital(1 - values, 1 - found.high) == pytest.approx(np.log(2 / 0.05), abs=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_equal_scores_have_an_interval_around_them_that_narrows(value):
    few, many = (confidence_sequence(np.full(n, value), 0, 1) for n in (20, 400))
    assert 0 <= few.low <= many.low <= value <= many.high <= few.high <= 1
    assert many.high - many.low < (few.high - few.low) / 2


def test_paired_evidence_is_the_capital_of_each_pair_and_does_not_depend_on_batches():
    scores = np.random.default_rng(3).random((3, 60))
    scores[0] = scores[0] / 2 + 0.5
    whole, parts = PairedBets(3, 0.05, 0.05), PairedBets(3, 0.05, 0.05)
    whole.update(np.ones(3, bool), scores)
    for start in range(0, 60, 20):
        parts.update(np.ones(3, bool), scores[:, start : start + 20])
    assert np.allclose(whole._logs, parts._logs)
    for a in range(3):
        for b in range(3):
            gains = 1 + scores[a] - scores[b]
            assert whole.better[a, b] == (log_capital(gains, 1.0) >= np.log(2 / 0.05))
            assert whole.close[a, b] == (log_capital(gains, 0.95) >= np.log(2 / 0.05))
    assert whole.better[0, 1] and not whole.better[1, 0] and whole.close[0, 2]
    assert [PairedBets(k, 0.05, 0.05).threshold for k in (1, 2, 3)] == pytest.approx(np.log([20, 20, 40]))
