"""How far vectors moved, and the bar for it."""

import numpy as np
import pytest

from likewise.engines.int8.quantize import Bar, fidelity
from likewise.errors import BadInput

ROWS = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)


def test_equal_vectors_have_cosines_and_rank_correlation_of_one():
    found = fidelity(ROWS, ROWS)
    assert (found.texts, found.mean_cosine, found.least_cosine, found.rank_correlation) == (6, 1, 1, pytest.approx(1))


def test_one_vector_that_turned_round_is_the_least_and_lowers_the_mean():
    moved = ROWS.copy()
    moved[2] *= -1
    found = fidelity(ROWS, moved)
    assert found.least_cosine == pytest.approx(-1, abs=1e-6) and found.mean_cosine == pytest.approx(4 / 6, abs=1e-6)
    assert found.rank_correlation < 0.95


def test_a_zero_vector_that_stays_zero_has_not_moved_and_one_that_appears_has():
    before, after = ROWS.copy(), ROWS.copy()
    before[0] = after[0] = 0
    assert fidelity(before, after).least_cosine == 1
    after[0] = 1
    assert fidelity(before, after).least_cosine == 0


def test_the_bar_is_for_both_cosines():
    found = fidelity(ROWS, ROWS + np.float32(0.05) * ROWS[::-1])
    assert found.reaches(Bar(found.mean_cosine, found.least_cosine))
    assert not found.reaches(Bar(found.mean_cosine + 1e-6, found.least_cosine))
    assert not found.reaches(Bar(found.mean_cosine, found.least_cosine + 1e-6))


def test_a_bar_may_be_any_cosines_and_is_high_unless_it_is_named():
    assert Bar() == Bar(0.997, 0.97)
    for values in ((1, 1), (-1, -1), (1, -1)):
        assert (Bar(*values).mean_cosine, Bar(*values).least_cosine) == values


@pytest.mark.parametrize("values", [(1.1, 0), (0.9, -2), (float("nan"), 0)])
def test_a_bar_that_no_cosine_can_be_compared_with_is_refused(values):
    with pytest.raises(BadInput, match="the bar is"):
        Bar(*values)
