"""Texts with their neighbours: found as by sorting all cosines; nine vectors and the order of eight cosines."""

import numpy as np
import pytest
import torch

from likewise.arrays.similarity import unit
from likewise.errors import BadInput
from likewise.train.objectives import CoSENT
from papers.recipes.distillation import near_texts as module
from papers.recipes.distillation.near_texts import AXES, OTHERS, RANKS, NearTexts, near_source, near_texts


@pytest.fixture
def vectors():
    return unit(np.random.default_rng(3).normal(size=(300, 16)).astype(np.float32))


def test_neighbours_are_those_of_sorted_cosines(vectors):
    found = near_texts(vectors, 300)
    cosines = vectors @ vectors.T
    assert found.shape == (300, 1 + OTHERS) and sorted(found[:, 0]) == [*range(300)]
    for i, *others in found:
        nearest = [j for j in np.argsort(-cosines[i], kind="stable") if j != i]
        assert others[:-1] == [nearest[rank - 1] for rank in RANKS]


def test_of_many_texts_the_nearest_of_each_part_are_candidates(vectors, monkeypatch):
    monkeypatch.setattr(module, "CANDIDATES", 100)
    some = near_texts(vectors, 300)
    monkeypatch.undo()
    best = {row[0]: row for row in near_texts(vectors, 300)}
    for row in some:
        near = vectors[row[1:-1]] @ vectors[row[0]]
        assert row[0] not in row[1:-1] and all(np.diff(near) <= 1e-6)
        assert all(near <= vectors[best[row[0]][1:-1]] @ vectors[row[0]] + 1e-6)


def test_neighbours_are_sought_in_the_first_axes(vectors):
    more = np.zeros((300, AXES + 8), np.float32)
    more[:, :16] = vectors
    assert np.mean(near_texts(more, 300) == near_texts(vectors, 300)) > 0.99


def test_texts_that_are_read_more_often_are_firsts_more_often(vectors):
    found = near_texts(vectors, 50, np.repeat([1.0, 9.0], 150))
    assert len({*found[:, 0]}) == 50 and np.mean(found[:, 0] >= 150) > 0.75


def test_texts_made_of_others_are_firsts_and_no_neighbours(vectors):
    found = near_texts(vectors, 300, found=200)
    assert found[:, 0].max() > 200 > found[:, 1:].max()


def test_rows_are_texts_by_their_numbers(vectors):
    texts = [str(i) for i in range(300)]
    found = near_texts(vectors, 300)
    source = near_source(found, texts, vectors, vectors, ["nli/train", "vocabulary"])
    assert len(source.rows) == 300
    assert source.info["of"] == [{"name": "nli/train", "licence": "mixed"}, {"name": "vocabulary", "licence": None}]
    assert [texts[int(i)] for i in source.rows.numbers["places"][:, 3]] == source.rows.texts["near3"]


def test_too_few_texts_have_no_such_neighbours(vectors):
    with pytest.raises(BadInput, match="--near-texts needs at least 66 texts; found 60"):
        near_texts(vectors[:60], 100)


def test_the_loss_is_the_squared_error_of_nine_and_the_order_of_eight(vectors):
    rows = near_texts(vectors, 12)
    expected = unit(np.random.default_rng(1).normal(size=(300, 10)).astype(np.float32))
    student = torch.from_numpy(unit(np.random.default_rng(2).normal(size=(108, 10)).astype(np.float32))).view(9, 12, 10)
    found = NearTexts(0.5, expected, vectors)(*student, places=torch.from_numpy(rows.astype(np.float32)))
    error = np.mean([(student[k, n].numpy() - expected[rows[n, k]]) ** 2 for n in range(12) for k in range(9)])
    pairs = [(n, k) for n in range(12) for k in range(1, 9)]
    gold = torch.tensor([float(vectors[rows[n, 0]] @ vectors[rows[n, k]]) for n, k in pairs])
    order = CoSENT()(
        torch.stack([student[0, n] for n, _ in pairs]), torch.stack([student[k, n] for n, k in pairs]), score=gold
    )
    assert float(found) == pytest.approx(float(error + 0.5 * order), rel=1e-5)
