"""Reciprocal rank fusion is the paper's sum, and agrees with rankings that agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.search.texts.text_index import reciprocal_rank_fusion

RANKINGS = st.lists(st.lists(st.integers(0, 9), unique=True), max_size=4)


def test_the_paper_s_sum():
    fused = reciprocal_rank_fusion([["a", "b", "c"], ["c", "a"]])
    assert [name for name, _ in fused] == ["a", "c", "b"]
    assert dict(fused) == pytest.approx({"a": 1 / 61 + 1 / 62, "b": 1 / 62, "c": 1 / 63 + 1 / 61})


@given(RANKINGS, st.integers(0, 100))
def test_every_thing_has_the_sum_over_its_ranks_and_the_best_comes_first(rankings, k):
    fused = reciprocal_rank_fusion(rankings, k)
    for name, score in fused:
        assert score == pytest.approx(sum(1 / (k + ranking.index(name) + 1) for ranking in rankings if name in ranking))
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)
    assert {name for name, _ in fused} == {name for ranking in rankings for name in ranking}


def test_a_ranking_that_names_a_thing_twice_is_refused():
    with pytest.raises(BadInput, match="a ranking of 3 items contains only 2 distinct items"):
        reciprocal_rank_fusion([[1, 2, 1]])


def test_weights_multiply_each_rankings_share():
    random = np.random.default_rng(0)
    one, other = random.permutation(30)[:20].tolist(), random.permutation(30)[:15].tolist()
    found = dict(reciprocal_rank_fusion([one, other], weights=(0.3, 0.7)))
    places = [{name: 1 / (60 + rank) for rank, name in enumerate(ranking, 1)} for ranking in (one, other)]
    wanted = {name: 0.3 * places[0].get(name, 0) + 0.7 * places[1].get(name, 0) for name in {*one, *other}}
    assert found == pytest.approx(wanted)
    first = reciprocal_rank_fusion([one, other], weights=(1.0, 0.0))
    assert [name for name, _ in first][:20] == one
