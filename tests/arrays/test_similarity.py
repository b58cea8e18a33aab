"""How alike two vectors are."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays import similarity
from likewise.arrays.similarity import PAIRWISE, SIMILARITIES
from likewise.errors import BadInput


def _rows(seed: int, count: int, width: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, width))


def _slow(name: str, a: np.ndarray, b: np.ndarray) -> float:
    """One pair, one number at a time."""
    if name == "dot":
        return sum(x * y for x, y in zip(a, b, strict=True))
    if name == "cosine":
        lengths = math.sqrt(_slow("dot", a, a) * _slow("dot", b, b))
        return _slow("dot", a, b) / lengths if lengths else 0.0
    if name == "euclidean":
        return -math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
    return -sum(abs(x - y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("name", SIMILARITIES)
@given(seed=st.integers(0, 99), m=st.integers(0, 5), n=st.integers(0, 5), width=st.integers(0, 9))
def test_each_equals_a_loop_over_pairs(name, seed, m, n, width):
    a, b = _rows(seed, m, width), _rows(seed + 100, n, width)
    found = SIMILARITIES[name](a, b)
    assert found.shape == (m, n)
    for i in range(m):
        for j in range(n):
            assert found[i, j] == pytest.approx(_slow(name, a[i], b[j]), abs=1e-7)


@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.usefixtures("unchecked")
def test_what_are_no_tables_of_one_width_is_told(name):
    table = np.ones((2, 3), np.float32)
    for a, b in ((table[0], table), (table, table[0]), (table, table[:, :2]), (table[None], table)):
        with pytest.raises(BadInput, match="two 2-D arrays of the same dimension"):
            SIMILARITIES[name](a, b)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_the_type_of_the_vectors_is_kept(name):
    a = _rows(0, 3, 4).astype(np.float32)
    assert SIMILARITIES[name](a, a).dtype == np.float32


def test_a_zero_row_has_cosine_zero_and_no_nan():
    assert similarity.cosine(np.zeros((1, 3)), np.ones((2, 3))).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize("block", [1, 5, 15, 70])
def test_in_blocks_each_is_what_it_is_at_once(name, block, monkeypatch):
    a = _rows(1, 23, 5)
    b = np.concatenate([a[:7] + 5e-8 * _rows(3, 7, 5), a[:4], _rows(2, 7, 5)])
    at_once = SIMILARITIES[name](a, b)
    monkeypatch.setattr(similarity, "_BLOCK", block)
    assert np.array_equal(SIMILARITIES[name](a, b), at_once)


@pytest.mark.parametrize("count", [0, 1, 4, 5, 8, 9])
def test_the_first_row_that_is_not_finite_is_named(count, monkeypatch):
    monkeypatch.setattr(similarity, "_ROWS", 4)
    similarity.check_finite_rows(np.ones((count, 2)), "x")
    for row in range(count):
        table = np.ones((count, 2))
        table[row:, 1] = np.resize([np.nan, np.inf, -np.inf], count - row)
        with pytest.raises(BadInput, match=rf"x\[{row}\] contains NaN or infinity"):
            similarity.check_finite_rows(table, "x")


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e3])
def test_equal_rows_are_at_distance_zero_and_near_ones_are_told_apart(size):
    a = (_rows(4, 60, 384) * size).astype(np.float32)
    assert (np.diag(similarity.euclidean(a, a)) == 0).all() and similarity.euclidean(a[:1], a[:1]) == 0
    b = a * np.float32(1 + 1e-4)
    wanted = -np.linalg.norm(a.astype(float) - b, axis=1)
    np.testing.assert_allclose(np.diag(similarity.euclidean(a, b)), wanted, rtol=1e-3)


@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize(
    ("dtype", "factor"), [(np.int8, 30), (np.uint8, 1), (np.int64, 1000), (np.float16, 9000), (np.float16, 1e-4)]
)
def test_whole_numbers_and_half_precision_are_compared_in_float32(name, dtype, factor):
    a = np.clip(_rows(5, 4, 16) * factor, -128, 127) if dtype is np.int8 else _rows(5, 4, 16) * factor
    a = (np.abs(a) if dtype is np.uint8 else a).astype(dtype)
    found = SIMILARITIES[name](a, a[::-1])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, SIMILARITIES[name](a.astype(float), a[::-1].astype(float)), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize("dtype", [np.longdouble, ">f8"])
def test_wide_floats_are_compared_in_float64(name, dtype):
    a, b = _rows(5, 4, 16), _rows(6, 4, 16)
    for compare in (SIMILARITIES[name], PAIRWISE[name]):
        found = compare(a.astype(dtype), b.astype(dtype))
        assert found.dtype == np.float64 and np.array_equal(found, compare(a, b))


def test_there_is_a_similarity_of_rows_for_every_one_of_matrices():
    assert list(PAIRWISE) == list(SIMILARITIES)


@pytest.mark.parametrize("name", PAIRWISE)
@given(seed=st.integers(0, 99), n=st.integers(0, 6), width=st.integers(0, 9))
def test_row_with_row_is_the_diagonal_of_rows_with_rows(name, seed, n, width):
    a, b = _rows(seed, n, width), _rows(seed + 100, n, width)
    if n > 1:
        a[0], b[1] = 0, a[1]
    np.testing.assert_allclose(PAIRWISE[name](a, b), np.diag(SIMILARITIES[name](a, b)), atol=1e-12)


@pytest.mark.parametrize("name", PAIRWISE)
def test_rows_keep_their_type_and_small_types_are_compared_in_float32(name):
    a = _rows(0, 3, 4)
    assert PAIRWISE[name](a.astype(np.float32), a.astype(np.float32)).dtype == np.float32
    tiny = (a * 60).clip(-128, 127).astype(np.int8)
    np.testing.assert_allclose(
        PAIRWISE[name](tiny, tiny[::-1]), np.diag(SIMILARITIES[name](tiny, tiny[::-1])), rtol=1e-5
    )


@pytest.mark.parametrize("name", PAIRWISE)
@pytest.mark.usefixtures("unchecked")
def test_one_row_is_not_silently_compared_with_many(name):
    with pytest.raises(BadInput, match="two arrays of the same shape"):
        PAIRWISE[name](np.ones((1, 3)), np.ones((4, 3)))


@given(
    seed=st.integers(0, 10_000),
    width=st.sampled_from([1, 2, 7, 384, 1024]),
    power=st.integers(-44, 38),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_a_cosine_is_never_beyond_one_and_exactly_one_between_copies(seed, width, power, dtype):
    rows = (_rows(seed, 6, width) * 10.0**power).astype(dtype)
    rows = rows[np.isfinite(rows).all(1) & (np.abs(rows).max(1) > np.finfo(dtype).tiny)]
    copies = np.concatenate([rows, rows[::-1], -rows, rows * dtype(0.5)])
    matrix, pairs = similarity.cosine(copies, copies), PAIRWISE["cosine"](copies, copies)
    assert np.abs(matrix).max(initial=0) <= 1
    assert (pairs == 1).all()
    equal = (copies[:, None] == copies[None]).all(2)
    assert (matrix[equal] == 1).all()


@pytest.mark.parametrize("angle", [1e-2, 1e-3, 3e-4, 1e-4, 1e-5])
def test_small_angles_are_told_from_none(angle):
    a, side = (x / np.linalg.norm(x) for x in (_rows(1, 1, 384)[0], _rows(2, 1, 384)[0]))
    side -= (side @ a) * a
    b = np.cos(angle) * a + np.sin(angle) * side / np.linalg.norm(side)
    for compare in (similarity.cosine, PAIRWISE["cosine"]):
        found = 1 - float(compare(a[None], b[None]).ravel()[0])
        assert found == pytest.approx(angle**2 / 2, rel=1e-4, abs=1e-15)
        single = 1 - float(compare(a[None].astype(np.float32), b[None].astype(np.float32)).ravel()[0])
        assert single == pytest.approx(angle**2 / 2, abs=6e-6 if angle > 5e-3 else 7e-8)


@given(seed=st.integers(0, 99), power=st.integers(-36, 36))
def test_cosines_do_not_depend_on_the_scale(seed, power):
    rows = _rows(seed, 5, 16).astype(np.float32)
    scaled = (rows * 10.0**power).astype(np.float32)
    np.testing.assert_allclose(similarity.cosine(scaled, rows), similarity.cosine(rows, rows), atol=1e-6)
    assert np.array_equal(similarity.unit(rows * np.float32(2.0**100)), similarity.unit(rows))
    assert np.array_equal(similarity.unit(rows * np.float32(2.0**-100)), similarity.unit(rows))


@pytest.mark.parametrize(
    ("dtype", "powers"), [(np.float32, (-120, -75, 0, 62, 63, 126)), (np.float64, (-1000, -540, 0, 511, 1020))]
)
def test_distances_are_right_where_squares_leave_the_range_of_their_type(dtype, powers):
    rows = np.concatenate([np.ldexp(_rows(7, 2, 5).clip(-1, 1).astype(dtype), power) for power in powers])
    rows = np.concatenate([rows, rows[::2] * dtype(1 + 1e-4), np.zeros((2, 5), dtype)])
    wanted = -np.sqrt(((rows[:, None].astype(np.longdouble) - rows[None]) ** 2).sum(2))
    found = similarity.euclidean(rows, rows)
    np.testing.assert_allclose(found, wanted.astype(dtype), rtol=1e-5, atol=0)
    assert (np.diag(found) == 0).all()
    np.testing.assert_allclose(PAIRWISE["euclidean"](rows, rows[::-1]), np.diag(wanted[:, ::-1]), rtol=1e-5, atol=0)


def test_the_distance_of_a_float32_row_from_a_wider_one_is_computed_in_float64():
    a, b = np.ones((1, 2), np.float32), np.array([[1 + 1e-12, 1]])
    assert similarity.euclidean(a, b)[0, 0] == pytest.approx(-1e-12, rel=1e-3)
    assert similarity.euclidean(a, b * 1e200)[0, 0] == pytest.approx(-math.sqrt(2) * 1e200)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("compare", [*SIMILARITIES.values(), *PAIRWISE.values()], ids=[*SIMILARITIES, *PAIRWISE])
@pytest.mark.parametrize(
    "odd",
    [
        object(),
        {"a": [1, 2]},
        "vectors",
        [[1.0, 2.0], [1.0]],
        np.array([["1", "2"]]),
        np.ones((2, 2), np.complex64),
        np.ma.masked_less(np.eye(2), 0.5),
        torch.ones(2, 2, requires_grad=True),
    ],
    ids=["object", "dict", "str", "ragged", "texts", "complex", "masked", "wants gradients"],
)
def test_what_is_no_table_of_numbers_is_refused(compare, odd):
    with pytest.raises(BadInput, match="the input |arrays of the same dimension|two arrays of the same shape"):
        compare(odd, np.eye(2))


@pytest.mark.usefixtures("unchecked")
def test_masked_numbers_are_called_so():
    with pytest.raises(BadInput, match="contains masked numbers; expected an array of real numbers"):
        similarity.dot(np.ma.masked_less(np.eye(2), 0.5), np.eye(2))


@pytest.mark.usefixtures("unchecked")
def test_numbers_in_other_containers_are_compared():
    wanted = SIMILARITIES["dot"](np.eye(2), np.eye(2))
    for table in (np.eye(2).tolist(), torch.eye(2), np.eye(2).astype(object), np.ma.masked_less(np.eye(2), -1)):
        assert np.array_equal(SIMILARITIES["dot"](table, np.eye(2)), wanted)
