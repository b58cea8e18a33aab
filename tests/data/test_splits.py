"""Folds over pairs: fair, repeatable, and without leaks where that is promised."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.data.splits import count_leaked, folds, train_test_splits, without_shared_sentences
from likewise.errors import BadInput

names = st.sampled_from("abcdefghijklmnopqrstuvwxyz")
graphs = st.lists(st.tuples(names, names), min_size=5, max_size=40)


@given(graphs, st.integers(2, 5), st.booleans())
def test_every_pair_is_tested_once_and_never_trained_on_then(pairs, k, group_aware):
    each = list(train_test_splits(folds(pairs, k, 3, group_aware)))
    assert sorted(i for _, test in each for i in test) == list(range(len(pairs)))
    for train, test in each:
        assert sorted([*train, *test]) == list(range(len(pairs)))


@given(graphs, st.integers(2, 5))
def test_plain_folds_differ_by_a_pair_at_most(pairs, k):
    sizes = np.bincount(folds(pairs, k, 0), minlength=k)
    assert sizes.max() - sizes.min() <= 1


@given(graphs, st.integers(2, 5))
def test_group_aware_and_strict_folds_leak_nothing(pairs, k):
    for one in train_test_splits(folds(pairs, k, 0, group_aware=True)):
        assert count_leaked(pairs, one) == 0
    for one in train_test_splits(folds(pairs, k, 0)):
        assert count_leaked(pairs, without_shared_sentences(pairs, one)) == 0
        train, test = one
        tested = {text for i in test for text in pairs[i]}
        assert [i for i in train if not tested & set(pairs[i])] == without_shared_sentences(pairs, one)[0].tolist()


def test_leaks_are_counted_by_the_test_pair():
    pairs = [("a", "b"), ("a", "c"), ("d", "e"), ("f", "a")]
    assert count_leaked(pairs, (np.array([0, 2]), np.array([1, 3]))) == 2
    assert count_leaked(pairs, (np.array([2]), np.array([0, 1, 3]))) == 0


def test_group_aware_folds_are_even_where_they_can_be():
    pairs = [(f"{i // 2}", f"{i // 2} {i}") for i in range(40)]
    assert np.bincount(folds(pairs, 5, 0, group_aware=True)).tolist() == [8] * 5


def test_the_largest_groups_are_dealt_out_first_so_that_the_smaller_ones_even_the_folds_out():
    sizes = [1, 1, 2, 4, 8]
    pairs = [(f"{group}", f"{group} {i}") for group, size in enumerate(sizes) for i in range(size)]
    for seed in range(5):
        assert np.bincount(folds(pairs, 2, seed, group_aware=True)).tolist() == [8, 8]


def test_there_are_ten_folds_by_default_one_pair_in_each_at_least_and_groups_may_be_split():
    pairs = [("a", f"{i}") for i in range(10)]
    assert sorted(folds(pairs)) == [*range(10)]
    assert folds(pairs).tolist() == folds(pairs, 10, 1111, group_aware=False).tolist()
    assert sorted(folds(pairs[:2], 2)) == [0, 1]


@pytest.mark.parametrize("group_aware", [False, True])
def test_a_seed_gives_the_same_folds_and_another_seed_others(group_aware):
    pairs = [(f"{i}", f"{i}!") for i in range(30)]
    first, again, other = (folds(pairs, 5, seed, group_aware).tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("k", [1, 4])
def test_folds_that_cannot_be_are_refused(k):
    with pytest.raises(BadInput, match=f"3 pairs cannot be split into {k} folds?;"):
        folds([("a", "b"), ("c", "d"), ("e", "f")], k)
