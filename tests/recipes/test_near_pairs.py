"""Pairs of near texts: found as by sorting all cosines, of other texts than their own, as often as is asked for."""

import numpy as np
import pytest

from likewise.arrays.similarity import unit
from likewise.errors import BadInput
from likewise.recipes.distillation import near_pairs as module
from likewise.recipes.distillation.near_pairs import AXES, PAIRS, RANKS, near_pairs


@pytest.fixture
def vectors():
    return unit(np.random.default_rng(3).normal(size=(300, 16)).astype(np.float32))


def of_each(found, texts):
    """The second texts of each first one, by its number; none where it has fewer pairs than others."""
    return {i: found.right[found.left == i] for i in range(texts) if np.sum(found.left == i) == PAIRS}


def test_pairs_are_those_of_sorted_cosines(vectors):
    found = near_pairs(vectors, 300 * PAIRS)
    cosines = vectors @ vectors.T
    assert np.allclose(found.cosines, cosines[found.left, found.right], atol=1e-6) and not any(
        found.left == found.right
    )
    others = of_each(found, 300)
    assert len(others) > 290  # where the text at random is the text itself, there is no such pair
    for i, right in others.items():
        nearest = [j for j in np.argsort(-cosines[i], kind="stable") if j != i]
        assert right[:-1].tolist() == [nearest[rank - 1] for rank in RANKS]


def test_of_many_texts_the_nearest_of_each_part_are_candidates(vectors, monkeypatch):
    monkeypatch.setattr(module, "CANDIDATES", 100)
    some = near_pairs(vectors, 300 * PAIRS)
    monkeypatch.undo()
    best = of_each(near_pairs(vectors, 300 * PAIRS), 300)
    assert not any(some.left == some.right)
    for i, right in of_each(some, 300).items():
        near = vectors[right[:-1]] @ vectors[i]
        assert all(np.diff(near) <= 1e-6)
        assert i not in best or all(near <= vectors[best[i][:-1]] @ vectors[i] + 1e-6)


def test_neighbours_are_sought_in_the_first_axes(vectors):
    more = np.zeros((300, AXES + 8), np.float32)
    more[:, :16] = vectors
    wide, narrow = near_pairs(more, 300 * PAIRS), near_pairs(vectors, 300 * PAIRS)
    assert np.mean(wide.right == narrow.right) > 0.99


def test_texts_that_are_read_more_often_are_firsts_more_often(vectors):
    often = np.repeat([1.0, 9.0], 150)
    found = near_pairs(vectors, 50 * PAIRS, often)
    firsts = np.unique(found.left)
    assert len(firsts) == 50 and np.mean(firsts >= 150) > 0.75


def test_texts_that_are_left_out_are_in_no_pair(vectors):
    texts = [str(i) for i in range(300)]
    rows = near_pairs(vectors, 300 * PAIRS).source(texts, {"7", "8"}).rows
    seen = {*rows.texts["sentence1"], *rows.texts["sentence2"]}
    assert seen == {*texts} - {"7", "8"} and len(rows) == len(rows.numbers["score"])


def test_too_few_texts_have_no_such_neighbours(vectors):
    with pytest.raises(BadInput, match="--near-pairs needs 66 texts or more, and there are 60"):
        near_pairs(vectors[:60], 100)
