"""Sequences: everything that is done to them at once is what is done to each list of ids by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.sequences import Sequences

ROWS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=6), max_size=8)


@given(ROWS)
def test_they_are_the_lists_that_they_were_made_of(rows):
    made = Sequences.of(rows)
    assert made.lists() == rows == [ids.tolist() for ids in made]
    assert len(made) == len(rows) and made.lengths.tolist() == [*map(len, rows)]
    assert made.positions.tolist() == [i for row in rows for i in range(len(row))]
    with pytest.raises(IndexError):
        made[len(rows)]


@given(ROWS, st.randoms(use_true_random=False))
def test_some_are_taken_in_any_order_and_repeatedly(rows, random):
    chosen = [random.randrange(len(rows)) for _ in range(5)] if rows else []
    assert Sequences.of(rows).take(np.asarray(chosen, np.int64)).lists() == [rows[i] for i in chosen]


@given(ROWS, st.integers(0, 7))
def test_the_first_ids_of_each_are_kept(rows, most):
    assert Sequences.of(rows).first(most).lists() == [row[:most] for row in rows]


@given(ROWS)
def test_those_that_are_wanted_are_kept(rows):
    made = Sequences.of(rows)
    assert made.where(made.ids % 2 == 1).lists() == [[i for i in row if i % 2] for row in rows]


@given(ROWS, st.lists(st.integers(0, 9), max_size=3), st.lists(st.integers(0, 9), max_size=3))
def test_the_same_ids_are_put_around_each(rows, prefix, suffix):
    assert Sequences.of(rows).between(prefix, suffix).lists() == [[*prefix, *row, *suffix] for row in rows]
