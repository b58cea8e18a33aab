"""A race: losers are eliminated, the winner is correct, and equal candidates have no winner."""

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.evaluate.race import Race, StoppingRule, items_needed, race


def run(scores: np.ndarray, **rule: float) -> Race:
    return race(lambda alive, items: scores[np.ix_(alive, items)], *scores.shape, rule=StoppingRule(**rule))


def skilled(*chances: float, items: int = 1000, seed: int = 0) -> np.ndarray:
    """Candidates that get an item right if its difficulty is below their skill."""
    return (np.random.default_rng(seed).random(items) < np.array(chances)[:, None]).astype(float)


@pytest.mark.parametrize("rule", [{"margin": 0.0}, {"margin": 0.0, "alpha": 0.2}])
def test_equal_candidates_have_a_false_winner_at_most_as_often_as_alpha(rule):
    alpha, runs = rule.get("alpha", 0.05), 200
    false = 0
    for seed in range(runs):
        scores = np.random.default_rng(seed).choice([0, 0.3, 0.5, 1], size=(3, 250))
        false += run(scores, seed=seed, **rule).verdict == "winner"
    assert false <= alpha * runs


def test_a_clear_winner_is_found_early_and_losers_are_not_scored_again():
    found = run(skilled(0.9, 0.85, 0.4))
    assert (found.verdict, found.best) in {("winner", 0), ("tie", 0)}
    assert found.used[2] < found.used[0] == found.scores.shape[1] < 400
    assert np.isnan(found.scores[2, found.used[2] :]).all()
    assert run(skilled(0.4, 0.5, 0.95)).best == 2
    gains = found.scores[0] - found.scores[2]
    assert np.array_equal(found.gains(2), gains[np.isfinite(gains)])


def test_the_first_look_is_after_16_items_and_later_ones_after_an_eighth_more():
    looks, scores = [], np.full((2, 190), 0.5)
    race(
        lambda alive, items: scores[np.ix_(alive, items)],
        *scores.shape,
        rule=StoppingRule(margin=0),
        callback=lambda state: looks.append(state.scores.shape[1]),
    )
    assert looks == [16, 32, 48, 64, 80, 96, 112, 128, 144, 162, 182, 190]


def test_candidates_that_score_alike_are_a_tie_within_a_margin_and_undecided_without():
    scores = skilled(0.7, 0.7)
    assert run(scores, margin=0.05).verdict == "tie" and run(scores, margin=0.05).scores.shape[1] < 300
    undecided = run(scores, margin=0.0)
    assert undecided.verdict == "undecided" and undecided.scores.shape[1] == 1000


def test_items_are_scored_once_in_an_order_given_by_the_seed():
    scores = np.tile(np.linspace(0, 1, 100), (2, 1))
    first, again, other = (run(scores, margin=0, seed=seed).scores for seed in (1, 1, 2))
    assert (np.sort(first) == scores).all()
    assert (first == again).all() and (first != other).any()


def test_the_number_of_items_needed_is_about_what_a_race_takes():
    noise = np.random.default_rng(5).random((2, 8000)) * 0.5
    noise[0] += 0.02
    found = run(noise, margin=0.01)
    assert found.scores.shape[1] / 3 < items_needed(found.gains(1), 2, StoppingRule()) < 3 * found.scores.shape[1]
    assert items_needed(np.full(9, -0.5), 2, StoppingRule()) == 0
    assert items_needed(np.full(9, -0.5), 2, StoppingRule(margin=0.5)) == 0


@pytest.mark.parametrize(
    ("gains", "candidates", "needed"),
    [
        ([0.5, -0.4], 4, np.log(3 * 8 / 0.05) * 2 * 0.205 / 0.06**2),  # log G and the variance decide
        ([0.5, -0.4], 2, np.log(1 * 8 / 0.05) * 2 * 0.205 / 0.06**2),
        ([0.1, 0.1], 2, np.log(1 * 8 / 0.05) / (0.95 * 0.11)),  # the largest bet decides
        ([0.1, 0.1], 1, np.log(1 * 8 / 0.05) / (0.95 * 0.11)),
    ],
)
def test_the_number_of_items_needed_grows_with_the_variance_and_the_candidates(gains, candidates, needed):
    assert items_needed(np.array(gains), candidates, StoppingRule()) == np.ceil(needed)


@pytest.mark.parametrize(
    "rule",
    [{"margin": -0.1}, {"margin": 1}, {"alpha": 0}, {"alpha": 1}, {"margin": np.nan}, {"seed": -1}, {"seed": 0.5}],
)
def test_a_rule_out_of_range_is_refused(rule):
    with pytest.raises(BadInput, match=next(iter(rule))):
        StoppingRule(**rule)


def test_the_best_candidate_is_rarely_out_and_a_tie_is_rarely_worse_than_the_margin():
    wrong, runs = 0, 100
    for seed in range(runs):
        chances = 0.6, 0.57, 0.5
        noise = np.random.default_rng(1000 + seed).random((3, 800))
        found = run((noise < np.array(chances)[:, None]).astype(float), seed=seed, margin=0.02)
        wrong += found.verdict != "undecided" and found.best != 0
    assert wrong <= 0.05 * runs
