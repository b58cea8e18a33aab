"""Bitext mining gives what Artetxe and Schwenk's formula gives, written out for every pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.similarity import cosine
from likewise.errors import BadInput
from likewise.search.bitext import mine_bitext


def slow_margins(first: np.ndarray, second: np.ndarray, k: int) -> list[tuple[int, int, float]]:
    scores = cosine(first, second)

    def nearest(row: np.ndarray) -> list[int]:
        return sorted(range(len(row)), key=lambda i: (-row[i], i))[:k]

    there = [nearest(scores[i]) for i in range(len(first))]
    back = [nearest(scores[:, j]) for j in range(len(second))]

    def margin(i: int, j: int) -> float:
        mean = (np.mean(scores[i, there[i]]) + np.mean(scores[back[j], j])) / 2
        return scores[i, j] / mean if mean > 0 else -np.inf

    best = {(i, max(row, key=lambda j: margin(i, j))) for i, row in enumerate(there)}
    best |= {(max(row, key=lambda i: margin(i, j)), j) for j, row in enumerate(back)}
    margins = {pair: margin(*pair) for pair in best}
    found: list[tuple[int, int, float]] = []
    for i, j in sorted(margins, key=lambda pair: (-margins[pair], pair)):
        if margins[i, j] >= 0.98 and all(i != a and j != b for a, b, _ in found):
            found.append((i, j, margins[i, j]))
    return found


@given(sizes=st.tuples(st.integers(1, 20), st.integers(1, 20)), k=st.integers(1, 6), seed=st.integers(0, 200))
def test_pairs_are_those_of_the_formula(sizes, k, seed):
    draw = np.random.default_rng(seed)
    first, second = (draw.normal(size=(n, 6)).astype(np.float32) + 1 for n in sizes)
    found, wanted = mine_bitext(first, second, k=k, margin=0.98), slow_margins(first, second, k)
    assert [(p.i, p.j) for p in found] == [(i, j) for i, j, _ in wanted]
    np.testing.assert_allclose([p.score for p in found], [score for *_, score in wanted], rtol=1e-5)


def test_translations_are_found_among_others_and_a_row_near_to_all_is_not_preferred():
    draw = np.random.default_rng(0)
    first = draw.normal(size=(40, 32)).astype(np.float32)
    order = draw.permutation(40)
    second = (first + draw.normal(size=first.shape).astype(np.float32) * 0.3)[order]
    second = np.concatenate([second, first.mean(0, keepdims=True)])
    found = mine_bitext(first, second, margin=1.2)
    assert sorted((p.j, p.i) for p in found) == [(j, int(i)) for j, i in enumerate(order)]
    assert [p.score for p in found] == sorted((p.score for p in found), reverse=True)


def test_a_pair_with_just_the_margin_is_found_and_a_row_without_a_direction_is_in_no_pair():
    draw = np.random.default_rng(1)
    first, second = (draw.normal(size=(9, 4)).astype(np.float32) + 1 for _ in range(2))
    found = mine_bitext(first, second, margin=0)
    assert found == mine_bitext(first, second, k=4, margin=0) and len(found) > 3
    for i, pair in enumerate(found):
        assert mine_bitext(first, second, margin=pair.score) == found[: i + 1]
    assert mine_bitext(first, second) == [pair for pair in found if pair.score >= 1]
    assert mine_bitext(0 * first, second, margin=-9) == []


def test_empty_tables_have_no_pairs_and_widths_must_agree(unchecked):
    rows = np.eye(3, dtype=np.float32)
    assert mine_bitext(rows[:0], rows) == mine_bitext(rows, rows[:0]) == []
    with pytest.raises(BadInput, match="expected two 2-D arrays of equal dimension"):
        mine_bitext(rows, np.ones((2, 4), np.float32))
    with pytest.raises(BadInput, match=r"second\[1\] contains NaN"):
        mine_bitext(rows, np.array([[1, 0, 0], [np.nan, 0, 0]], np.float32))
