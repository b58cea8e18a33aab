"""Re-ranking goes down the list while there is time, and says how far it came."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.search.texts.reranking import rerank


class Clock:
    """A clock that only the scorer moves on, by a second a pair or as many as are given."""

    def __init__(self, seconds: float = 1.0) -> None:
        self.time, self.calls, self.seconds = 0.0, [], seconds

    def __call__(self) -> float:
        return self.time

    def score(self, pairs):
        self.calls.append(len(pairs))
        self.time += self.seconds * len(pairs)
        return np.array([float(text) for _, text in pairs])


def test_all_candidates_are_scored_where_there_is_no_limit():
    clock = Clock()
    found = rerank("q", ["1", "3", "2"], clock.score, clock=clock)
    assert (found.order.tolist(), found.scores.tolist(), found.scored) == ([1, 2, 0], [3.0, 2.0, 1.0], 3)


def test_what_there_is_no_time_for_keeps_its_place_behind_the_scored():
    clock = Clock()
    found = rerank("q", ["1", "2", "9", "3", "8"], clock.score, 4, at_once=2, clock=clock)
    assert (found.order.tolist(), found.scored, clock.time) == ([2, 3, 1, 0, 4], 4, 4.0)
    quick = Clock(0.25)
    quick.time = 7.0
    assert rerank("q", ["1"] * 9, quick.score, 1, at_once=2, clock=quick).scored == 4


def test_the_first_candidates_are_scored_whatever_the_budget():
    clock = Clock()
    assert rerank("q", ["1", "2", "3"], clock.score, 0.001, at_once=2, clock=clock).scored == 2


def test_by_default_eight_are_scored_at_once():
    clock = Clock()
    assert rerank("q", ["1"] * 17, clock.score, 16, clock=clock).scored == 16
    assert rerank("q", ["1"] * 17, clock.score, clock=clock).scored == 17
    assert clock.calls == [8, 8, 8, 8, 1]


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 30), st.integers(1, 5))
def test_the_order_is_that_of_the_scored_ones_by_score_and_time_is_kept(numbers, budget, at_once):
    clock = Clock()
    found = rerank("q", [str(n) for n in numbers], clock.score, budget, at_once=at_once, clock=clock)
    n = found.scored
    assert found.order.tolist() == sorted(range(n), key=lambda i: -numbers[i]) + list(range(n, len(numbers)))
    assert clock.time <= max(budget, at_once)
    assert n == len(numbers) or clock.time + max(clock.calls) > budget


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_of_no_time_is_refused(budget):
    with pytest.raises(BadInput, match="expected a positive number of seconds"):
        rerank("q", ["1"], Clock().score, budget)


@pytest.mark.parametrize("scores", [np.array([1.0]), np.array([1.0, np.nan])])
def test_a_scorer_that_returns_no_number_for_a_pair_is_refused(scores):
    with pytest.raises(BadInput, match="scoring 2 pairs returned"):
        rerank("q", ["1", "2"], lambda pairs: scores)
