"""The pairs mined in blocks are the pairs of the full matrix."""

from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.similarity import cosine
from likewise.errors import BadInput
from likewise.native import scanning
from likewise.native.scanning import Hits
from likewise.search import closest_pairs
from likewise.search.pairs import as_columns, best_first, nearest_others, of_neighbours, pairs_above
from tests.native_library import needs_native


@pytest.mark.parametrize("block", [2, 7, 2048])
@pytest.mark.parametrize("k", [1, 10, 10_000])
def test_pairs_are_those_of_the_full_matrix(block, k, monkeypatch):
    monkeypatch.setattr("likewise.search.pairs.BLOCK", block)
    vectors = np.random.default_rng(1).normal(size=(30, 5))
    matrix = cosine(vectors, vectors)
    expected = sorted(combinations(range(30), 2), key=lambda pair: (-matrix[pair], pair))[:k]
    assert [(p.i, p.j) for p in closest_pairs(vectors, k)] == expected


def test_copies_have_cosine_one_and_are_left_out_below_one():
    rows = np.random.default_rng(3).normal(size=(40, 384)).astype(np.float32)
    result = closest_pairs(np.concatenate([rows, rows * np.float32(3)]), 41)
    assert [(p.i, p.j, p.score) for p in result[:40]] == [(i, i + 40, 1.0) for i in range(40)]
    assert closest_pairs(np.concatenate([rows, rows]), 1, below=1)[0].score < 0.9


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vectors": object()}, "vectors is a object"),
        ({"vectors": np.eye(2)[0]}, "got shape"),
        ({"vectors": np.diag([1, 1, np.nan])}, r"vectors\[2\] contains NaN or infinity"),
        ({"k": 0}, "k is 0; expected a whole number, 1 or more"),
        ({"below": "0.5"}, "below is '0.5'; expected a number"),
        ({"below": -1.0}, "expected below to be greater than -1"),
        ({"above": 0.5, "below": 0.5}, r"above=0\.5, below=0\.5"),
    ],
)
def test_what_cannot_be_compared_is_refused(given, message):
    with pytest.raises(BadInput, match=message):
        closest_pairs(**{"vectors": np.eye(2), "k": 1, **given})


@pytest.mark.parametrize("threshold", [1.5, float("nan"), -2])
def test_a_threshold_that_is_no_cosine_is_refused(threshold):
    with pytest.raises(BadInput, match="threshold is .*; expected a (cosine from -1 to 1|number)"):
        pairs_above(np.eye(3, dtype=np.float32), threshold)


@pytest.mark.parametrize("block", [3, 7, 2048])
@pytest.mark.parametrize("k", [1, 4, 20])
def test_bounds_hold_in_every_block(block, k, monkeypatch):
    monkeypatch.setattr("likewise.search.pairs.BLOCK", block)
    vectors = np.random.default_rng(2).normal(size=(20, 3))
    vectors[7], vectors[15], vectors[16] = vectors[3], 2 * vectors[4], -vectors[4]
    every = [pair for pair in closest_pairs(vectors, 1000) if 0.1 <= pair.score < 0.95]
    result = closest_pairs(vectors, k, above=0.1, below=0.95)
    assert [(p.i, p.j) for p in result] == [(p.i, p.j) for p in every[:k]] and len(every) > 20
    assert [p.score for p in result] == pytest.approx([p.score for p in every[:k]])
    for most in (1, 2, 5):  # bounds that some cosine just meets: at least `above`, less than `below`
        edge = every[most].score
        assert closest_pairs(vectors, 1, below=edge)[0].score < edge
        assert closest_pairs(vectors, 1000, above=edge)[-1].score >= edge


def test_one_vector_fills_no_tile_and_the_last_of_equals_is_kept_by_its_row(monkeypatch):
    for block in (1, 2, 5):
        monkeypatch.setattr("likewise.search.pairs.BLOCK", block)
        vectors = np.array([[1.0, 0], [0, 1], [1, 0], [0, 1], [1, 0]])
        result = [(p.i, p.j) for p in closest_pairs(vectors, 5)]
        assert result == [(0, 2), (0, 4), (1, 3), (2, 4), (0, 1)]
        assert closest_pairs(np.eye(4)[[1, 0, 0, 2, 1, 3]], 1)[0][:2] == (0, 4)


@pytest.fixture(params=["numpy", pytest.param("library", marks=needs_native)])
def engine(request, monkeypatch):
    """By NumPy, and by the compiled library where it is there."""
    if request.param == "numpy":
        monkeypatch.setattr(scanning, "available", lambda: False)
    return request.param


def all_pairs(vectors, threshold, **how):
    return [
        pair for columns in pairs_above(vectors, threshold, **how) for pair in zip(*map(list, columns), strict=True)
    ]


@pytest.mark.usefixtures("engine")
@given(rows=st.integers(0, 60), width=st.integers(1, 9), threshold=st.floats(-1, 1), seed=st.integers(0, 99))
def test_pairs_above_a_threshold_are_those_of_the_full_matrix(rows, width, threshold, seed):
    vectors = np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)
    matrix = cosine(vectors, vectors)
    found = {(i, j): score for i, j, score in all_pairs(vectors, threshold)}
    assert list(found) == sorted(found) and all(i < j for i, j in found)
    for i in range(rows):
        for j in range(i + 1, rows):
            if abs(matrix[i, j] - threshold) > 1e-6:  # nearer, rounding decides
                assert ((i, j) in found) == (matrix[i, j] >= threshold)
    np.testing.assert_allclose([*found.values()], [matrix[pair] for pair in found], atol=1e-6)


@pytest.mark.usefixtures("engine")
def test_blocks_of_rows_and_threads_change_no_pair(monkeypatch, tmp_path):
    vectors = np.random.default_rng(1).normal(size=(300, 8)).astype(np.float32)
    vectors[7], vectors[250] = vectors[3], 2 * vectors[3]
    whole = all_pairs(vectors, 0.5, threads=1)
    assert len(whole) > 500 and (3, 7, 1.0) in whole and (7, 250, 1.0) in whole
    np.save(tmp_path / "vectors.npy", vectors)
    monkeypatch.setattr("likewise.search.pairs.BLOCK", 32)
    monkeypatch.setattr(scanning, "STREAMED", 2000)
    monkeypatch.setattr(scanning, "ROOM", 10)
    found = all_pairs(np.load(tmp_path / "vectors.npy", mmap_mode="r"), 0.5, threads=2)
    assert [pair[:2] for pair in found] == [pair[:2] for pair in whole]
    assert [pair[2] for pair in found] == pytest.approx([pair[2] for pair in whole], abs=1e-6)


@needs_native
def test_the_library_gives_the_same_bits_in_any_blocks(monkeypatch):
    vectors = np.random.default_rng(1).normal(size=(300, 8)).astype(np.float32)
    whole = all_pairs(vectors, 0.5, threads=1)
    monkeypatch.setattr("likewise.search.pairs.BLOCK", 47)
    monkeypatch.setattr(scanning, "STREAMED", 2000)
    monkeypatch.setattr(scanning, "ROOM", 10)
    assert all_pairs(vectors, 0.5, threads=3) == whole


@pytest.mark.usefixtures("engine")
@given(
    rows=st.integers(1, 40),
    k=st.integers(1, 45),
    copies=st.integers(0, 10),
    block=st.integers(1, 50),
    seed=st.integers(0, 99),
)
def test_the_nearest_others_of_each_row_are_those_of_a_full_sort_without_itself(rows, k, copies, block, seed):
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(rows, 5)).astype(np.float32)
    vectors[draw.integers(0, rows, copies)] = vectors[0]
    matrix = cosine(vectors, vectors)
    with patch("likewise.search.pairs.BLOCK", block):
        hits = Hits(*map(np.concatenate, zip(*nearest_others(vectors, k), strict=True)))
    assert hits.indices.shape == (rows, min(k, rows - 1))
    for i in range(rows):
        others = sorted((j for j in range(rows) if j != i), key=lambda j: (-matrix[i, j], j))[:k]
        np.testing.assert_allclose(hits.scores[i], matrix[i, others], atol=1e-6)
        assert i not in hits.indices[i] and len({*hits.indices[i]}) == len(others)


@pytest.mark.usefixtures("engine")
def test_of_more_copies_than_neighbours_the_earlier_are_kept():
    [hits] = nearest_others(np.ones((5, 2), np.float32), 2)
    assert hits.indices.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]


@pytest.mark.parametrize("mine", [pairs_above, nearest_others])
def test_progress_is_reported_by_rows_if_it_is_wanted(mine, monkeypatch, capsys):
    monkeypatch.setattr("likewise.search.pairs.BLOCK", 2)
    vectors, seen = np.eye(5, dtype=np.float32), []
    list(mine(vectors, 1, show_progress_bar=lambda meter: seen.append((meter.texts, meter.tokens, meter.total))))
    assert seen == [(2, 0, 5), (4, 0, 5), (5, 0, 5)]
    list(mine(vectors, 1))
    assert capsys.readouterr().err == ""


def test_pairs_are_columns_that_are_sorted_joined_and_cut():
    first, second = as_columns([(0, 1, 0.5), (0, 4, 0.75)]), as_columns([(2, 3, 0.75), (1, 2, 1.0)])
    found = best_first([first, second])
    assert [column.tolist() for column in found] == [[1, 0, 2, 0], [2, 4, 3, 1], [1.0, 0.75, 0.75, 0.5]]
    assert [len(column) for column in (*found.first(3), *found.first(None))] == [3, 3, 3, 4, 4, 4]
    assert [column.tolist() for column in best_first([])] == [[], [], []]
    hits = [scanning.Hits(np.array(rows), np.array(rows, np.float32) / 8) for rows in ([[2, 1], [0, 2]], [[1, 0]])]
    near = of_neighbours(hits)
    assert [column.tolist() for column in near[:2]] == [[0, 0, 1, 1, 2, 2], [2, 1, 0, 2, 1, 0]]
    assert near.scores.tolist() == [0.25, 0.125, 0, 0.25, 0.125, 0]


def test_a_tile_has_2048_rows_and_columns_and_none_is_compared_twice(monkeypatch):
    sizes = []

    def compare(a, b):
        sizes.append((len(a), len(b)))
        return np.full((len(a), len(b)), -1.0)

    monkeypatch.setattr("likewise.search.pairs.unit_cosine", compare)
    closest_pairs(np.ones((2049, 1)), 1, above=0.5)
    assert sizes == [(2048, 2048), (2048, 1), (1, 1)]


def test_every_pair_counts_by_default_opposites_and_copies_too():
    vectors = np.array([[1.0, 0], [1, 0], [-1, 0]])
    assert [tuple(pair) for pair in closest_pairs(vectors, 9)] == [(0, 1, 1.0), (0, 2, -1.0), (1, 2, -1.0)]
    assert [pair.j for pair in closest_pairs(vectors, 9, below=-0.999)] == [2, 2]
    with pytest.raises(BadInput, match="expected below to be greater than -1; got below=-1.001"):
        closest_pairs(vectors, 9, below=-1.001)
    assert closest_pairs(vectors, 9, above=0.5, below=0.500001) == []
