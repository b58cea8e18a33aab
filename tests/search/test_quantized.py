"""Scans of int8 and one-bit vectors give what sorting all of their scores gives; re-scoring gives exact cosines."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.quantization import int8_products, quantize_bits, quantize_int8, sign_agreement
from likewise.errors import BadInput
from likewise.native import scanning
from likewise.search import search, search_quantized
from tests.native_library import needs_native

KINDS = {"int8": (quantize_int8, int8_products), "bits": (quantize_bits, sign_agreement)}


@pytest.fixture(params=["numpy", pytest.param("library", marks=needs_native)], autouse=True)
def engine(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(scanning, "available", lambda: False)
    return request.param


@pytest.mark.parametrize("kind", KINDS)
@given(
    shape=st.tuples(st.integers(1, 20), st.integers(1, 130), st.integers(1, 90)),
    k=st.integers(1, 140),
    seed=st.integers(0, 99),
)
def test_a_scan_is_a_full_sort_of_the_quantized_scores(kind, shape, k, seed):
    draw = np.random.default_rng(seed)
    queries, vectors = (draw.normal(size=(n, shape[2])).astype(np.float32) for n in shape[:2])
    mask = draw.random(shape[1]) < 0.8
    quantize, compare = KINDS[kind]
    scores = compare(quantize(queries), quantize(vectors))
    hits = search_quantized(queries, quantize(vectors), k, mask=mask, threads=2)
    rows = np.flatnonzero(mask).tolist()
    assert hits.indices.tolist() == [sorted(rows, key=lambda i: (-scores[q, i], i))[:k] for q in range(len(queries))]
    assert np.array_equal(hits.scores, np.take_along_axis(scores, hits.indices, 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stored", ["float32", "float16"])
def test_all_candidates_rescored_are_the_exact_search(kind, stored):
    draw = np.random.default_rng(3)
    vectors = draw.normal(size=(150, 20)).astype(stored)
    queries = np.concatenate([vectors[:3], draw.normal(size=(4, 20)).astype(stored)])
    exact, found = (
        search(queries, vectors, 5),
        search_quantized(queries, KINDS[kind][0](vectors), 5, vectors=vectors, rescore=30),
    )
    assert np.array_equal(found.indices, exact.indices)
    np.testing.assert_allclose(found.scores, exact.scores, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_and_queries_may_be_lists(kind, unchecked):
    vectors = np.random.default_rng(3).normal(size=(20, 8)).astype(np.float32)
    quantized = KINDS[kind][0](vectors)
    found = search_quantized(vectors[:3].tolist(), quantized, 5, vectors=vectors.tolist())
    assert np.array_equal(found.indices, search_quantized(vectors[:3], quantized, 5, vectors=vectors).indices)


@pytest.mark.parametrize("kind", KINDS)
def test_of_equal_vectors_the_earlier_come_first_rescored_or_not(kind):
    vectors = np.tile(np.random.default_rng(0).normal(size=(1, 17)).astype(np.float32), (60, 1))
    for full in (None, vectors):
        assert (
            search_quantized(vectors[:2], KINDS[kind][0](vectors), 4, vectors=full).indices.tolist()
            == [[0, 1, 2, 3]] * 2
        )


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_blocks_change_no_bit(kind, monkeypatch):
    vectors = np.random.default_rng(1).normal(size=(3000, 70)).astype(np.float32)
    quantized = KINDS[kind][0](vectors)
    one = search_quantized(vectors[:9], quantized, 6, vectors=vectors, threads=1)
    monkeypatch.setattr(scanning, "STREAMED", 1000)
    monkeypatch.setattr(scanning, "QUERIES", 4)
    more = search_quantized(vectors[:9], quantized, 6, vectors=vectors, threads=3)
    assert np.array_equal(more.indices, one.indices) and np.array_equal(more.scores, one.scores)


def test_int8_is_within_half_a_step_of_the_direction():
    vectors = np.random.default_rng(2).normal(size=(30, 50)).astype(np.float32) * 7
    stored = quantize_int8(vectors)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    error = np.abs(stored.codes * stored.scales[:, None] - directions)
    assert (error <= stored.scales[:, None] * 0.501).all() and (np.abs(stored.codes).max(1) == 127).all()


def test_zero_rows_are_zero_and_have_no_cosine():
    stored = quantize_int8(np.zeros((2, 5), np.float32))
    assert not stored.codes.any() and not stored.scales.any()
    assert search_quantized(np.ones((1, 5), np.float32), stored, 2).scores.tolist() == [[0, 0]]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"rescore": 0}, "rescore is 0"),
        ({"queries": np.ones((2, 4), np.float32)}, "expected queries of shape (Q, 5), like the vectors; got (2, 4)"),
        ({"queries": np.full((1, 5), np.nan, np.float32)}, "queries[0] contains NaN"),
        (
            {"vectors": np.ones((3, 5), np.float32)},
            "expected the vectors that were quantized, of shape (4, 5); got (3, 5)",
        ),
        ({"mask": np.ones(3, bool)}, "expected 4 booleans"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, message):
    vectors = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    with pytest.raises(BadInput, match=re.escape(message)):
        search_quantized(**{"queries": vectors, "quantized": quantize_int8(vectors), "vectors": vectors, **wrong})
    with pytest.raises(BadInput, match=r"vectors\[2\] contains"):
        vectors[2, 1] = np.inf
        quantize_bits(vectors)
