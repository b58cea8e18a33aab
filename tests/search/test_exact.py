"""Exact search gives what sorting all scores gives."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.quantization import quantize_bits, quantize_int8
from likewise.arrays.similarity import SIMILARITIES
from likewise.errors import BadInput
from likewise.native import scanning
from likewise.native.scanning import Scan
from likewise.search import exact, search
from tests.native_library import needs_native


@pytest.fixture(params=["numpy", pytest.param("library", marks=needs_native)], autouse=True)
def engine(request, monkeypatch):
    """Every test runs by NumPy, and by the compiled library where it is there."""
    if request.param == "numpy":
        monkeypatch.setattr(scanning, "available", lambda: False)
    return request.param


@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize("block", [3, 8, 1000])
def test_the_nearest_are_those_of_a_full_sort(metric, block, monkeypatch):
    monkeypatch.setattr(exact, "BLOCK", block)
    monkeypatch.setattr(exact, "QUERIES", block - 1)
    draw = np.random.default_rng(0)
    queries, corpus = draw.normal(size=(5, 7)).astype(np.float32), draw.normal(size=(40, 7)).astype(np.float32)
    scores = SIMILARITIES[metric](queries, corpus)
    hits = search(queries, corpus, k=6, metric=metric)
    for q in range(len(queries)):
        order = sorted(range(len(corpus)), key=lambda i: (-scores[q, i], i))[:6]
        assert hits.indices[q].tolist() == order
        np.testing.assert_allclose(hits.scores[q], scores[q, order], atol=1e-5)


def test_a_small_or_empty_corpus_gives_what_it_has():
    vectors = np.eye(3, dtype=np.float32)
    assert search(vectors, vectors, k=10).indices.shape == (3, 3)
    assert search(vectors, vectors[:0], k=10).indices.shape == (3, 0)
    for metric in ("cosine", "dot"):
        assert search(vectors[:, :0], vectors[:, :0], metric=metric).scores.tolist() == [[0, 0, 0]] * 3


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k is 0; expected a whole number, 1 or more"),
        ({"metric": "hamming"}, "metric is 'hamming'; expected one of cosine"),
        ({"queries": [[1.0, 2.0], [1.0]]}, "queries is a list that cannot be read as an array of numbers"),
        ({"corpus": object()}, "corpus is a object"),
        ({"corpus": {"a": [1, 2]}}, "corpus is a dict"),
        ({"corpus": np.array([["a", "b"]])}, "corpus contains <U1; expected an array of real numbers"),
        ({"queries": np.ones(3), "corpus": np.ones((4, 3))}, "got (3,) and (4, 3)"),
        ({"queries": np.ones((2, 3)), "corpus": np.ones((4, 5))}, "got (2, 3) and (4, 5)"),
        ({"corpus": quantize_int8(np.eye(2))}, "search needs an array: use search_quantized"),
        ({"corpus": quantize_bits(np.eye(2))}, "search needs an array: use search_quantized"),
    ],
)
def test_what_cannot_be_asked_is_said(wrong, message):
    good = {"queries": np.eye(2, dtype=np.float32), "corpus": np.eye(2, dtype=np.float32)}
    with pytest.raises(BadInput, match=re.escape(message)):
        search(**{**good, **wrong})


@pytest.mark.parametrize("block", [64, 8192])
@pytest.mark.parametrize("k", [40, 150, 300])
def test_many_equal_scores_keep_the_order_of_the_corpus_where_only_a_stable_sort_does(block, k, monkeypatch):
    monkeypatch.setattr(exact, "BLOCK", block)
    corpus = np.random.default_rng(1).integers(0, 4, size=(300, 1)).astype(np.float32)
    hits = search(np.ones((2, 1), np.float32), corpus, k=k, metric="dot")
    expected = sorted(range(300), key=lambda i: (-corpus[i, 0], i))[:k]
    assert hits.indices.tolist() == [expected] * 2


@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused_by_name(metric, bad):
    spoilt = np.eye(2, dtype=np.float32)
    spoilt[1, 0] = bad
    with pytest.raises(BadInput, match=r"queries\[1\] contains NaN or infinity"):
        search(spoilt, np.eye(2, dtype=np.float32), k=1, metric=metric)
    with pytest.raises(BadInput, match=r"corpus\[1\] contains NaN or infinity"):
        search(np.eye(2, dtype=np.float32), spoilt, k=1, metric=metric)


@pytest.mark.parametrize("size", [1.0, 1e-25, 1e25])
def test_copies_have_cosine_one_and_come_in_the_order_of_the_corpus(size):
    rows = np.random.default_rng(0).normal(size=(20, 384)).astype(np.float32)
    corpus = np.concatenate([rows, rows * np.float32(size), rows])
    hits = search(rows, corpus, k=4)
    assert hits.indices[:, :3].tolist() == [[i, i + 20, i + 40] for i in range(20)]
    assert (hits.scores[:, :3] == 1).all()
    assert (hits.scores[:, 3] < 1).all()


@pytest.mark.filterwarnings("ignore")
def test_numbers_whose_products_have_no_value_are_refused():
    huge = np.array([[3e38, -3e38]], np.float32)
    with pytest.raises(BadInput, match="the numbers are too large: the dot similarity of a query and a row is NaN"):
        search(huge, huge[:, ::-1] * np.array([[1, -1]], np.float32) * -1, k=1, metric="dot")
    for metric in ("dot", "euclidean", "manhattan"):  # in float32, rows 1 and 2 would be equal
        with pytest.raises(BadInput, match=f"too large: the {metric} similarity .* infinite"):
            search(np.array([[1.0]]), np.array([[1e40], [3e40]]), k=1, metric=metric)


@given(
    shape=st.tuples(st.integers(0, 9), st.integers(1, 130), st.integers(1, 40)),
    k=st.integers(1, 140),
    share=st.floats(0, 1),
    kind=st.sampled_from(["float32", "float16"]),
    seed=st.integers(0, 99),
)
def test_rows_left_out_by_a_mask_are_never_found_and_the_others_are_as_ever(shape, k, share, kind, seed):
    draw = np.random.default_rng(seed)
    queries = draw.integers(-3, 4, (shape[0], shape[2])).astype(np.float32)
    corpus = draw.integers(-3, 4, (shape[1], shape[2])).astype(kind)  # whole numbers: ties, and no rounding of products
    mask = draw.random(shape[1]) < share
    for given_mask in (None, mask):
        hits = search(queries, corpus, k, mask=given_mask, metric="dot")
        rows = np.arange(shape[1]) if given_mask is None else np.flatnonzero(mask)
        scores = queries @ corpus.astype(np.float32).T
        wanted = [sorted(rows.tolist(), key=lambda i: (-scores[q, i], i))[:k] for q in range(len(queries))]
        assert hits.indices.tolist() == wanted
        assert hits.scores.tolist() == [scores[q, rows].tolist() for q, rows in enumerate(wanted)]


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_cosines_are_those_of_normalised_rows(kind):
    draw = np.random.default_rng(5)
    queries, corpus = draw.normal(size=(7, 33)).astype(kind), (draw.normal(size=(200, 33)) * 50).astype(kind)
    hits = search(queries, corpus, k=9)
    wanted = SIMILARITIES["cosine"](queries.astype(np.float32), corpus.astype(np.float32))
    assert hits.indices.tolist() == [sorted(range(200), key=lambda i: (-row[i], i))[:9] for row in wanted]
    np.testing.assert_allclose(hits.scores, np.take_along_axis(wanted, hits.indices, 1), atol=1e-6)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("mask", [np.ones(2, bool), np.ones(3), "all", [[True] * 3]])
def test_a_mask_is_one_boolean_a_row(mask):
    with pytest.raises(BadInput, match="expected 3 booleans, one per row"):
        search(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32), mask=mask)


def test_a_corpus_in_a_file_is_searched_in_blocks_and_gives_what_memory_gives(tmp_path, monkeypatch):
    corpus = np.random.default_rng(0).normal(size=(700, 16)).astype(np.float32)
    np.save(tmp_path / "corpus.npy", corpus)
    mapped = np.load(tmp_path / "corpus.npy", mmap_mode="r")
    mask = np.arange(700) % 3 > 0
    whole = search(corpus[:5], corpus, k=20, mask=mask)
    monkeypatch.setattr(scanning, "STREAMED", 64 * 40)
    monkeypatch.setattr(scanning, "QUERIES", 2)
    monkeypatch.setattr(exact, "BLOCK", 64)
    in_blocks = search(corpus[:5], mapped, k=20, mask=mask)
    assert np.array_equal(in_blocks.indices, whole.indices)
    np.testing.assert_allclose(in_blocks.scores, whole.scores, atol=1e-6)


@pytest.mark.parametrize(("streamed", "step"), [(1, 8), (64 * 15, 8), (64 * 16, 16), (64 * 23, 16), (64 * 99, 20)])
def test_blocks_have_as_many_rows_as_fit_in_eights_and_eight_at_least(streamed, step, monkeypatch):
    monkeypatch.setattr(scanning, "STREAMED", streamed)
    corpus = np.ones((20, 16), np.float32)
    found = [*scanning.row_blocks(Scan(corpus[:1], corpus, 16))]
    assert found == [slice(start, min(start + step, 20)) for start in range(0, 20, step)]


def test_rows_that_a_mask_leaves_out_may_be_anything():
    corpus = np.eye(3, dtype=np.float32)
    corpus[1] = np.nan
    assert search(corpus[:1], corpus, mask=np.array([True, False, True])).indices.tolist() == [[0, 2]]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_of_the_rows_that_a_mask_leaves_in_the_first_that_is_not_finite_is_named(metric, monkeypatch):
    monkeypatch.setattr(exact, "BLOCK", 2)
    for first in range(5):
        corpus = np.eye(5, 3, dtype=np.float32)
        corpus[first:, 1] = np.inf
        corpus[0, 2] = np.nan
        mask = np.arange(5) >= first
        with pytest.raises(BadInput, match=rf"corpus\[{first}\] contains NaN or infinity"):
            search(np.ones((1, 3), np.float32), corpus, mask=mask, metric=metric)
        mask = (np.arange(5) < first) & (np.arange(5) > 0)
        assert search(np.ones((1, 3)), corpus, mask=mask, metric=metric).indices.shape == (1, max(0, first - 1))


@pytest.mark.parametrize("rows", [1, 3, 10])
def test_unit_rows_have_their_directions_and_norms_and_give_back_the_originals(rows, monkeypatch):
    monkeypatch.setattr(exact, "UNIT_ROWS", rows)
    vectors = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32) * 50
    vectors[6] = 0
    for dtype, tolerance in (("float32", 1e-6), ("float16", 1e-3)):
        found = exact.UnitRows.of(vectors, dtype)
        np.testing.assert_allclose(found.lengths, np.linalg.norm(vectors, axis=1), rtol=1e-6)
        expected = vectors / np.maximum(found.lengths, 1e-9)[:, None]
        np.testing.assert_allclose(found.rows.astype(float), expected, atol=tolerance)
        np.testing.assert_allclose(found.original(), vectors, atol=100 * tolerance)
        assert found.rows.dtype == dtype and found.original().dtype == np.float32


def test_any_number_of_threads_gives_the_same_bits():
    corpus = np.random.default_rng(1).normal(size=(5000, 24)).astype(np.float32)
    one = search(corpus[:30], corpus, k=40, threads=1)
    for threads in (2, 3, 8):
        more = search(corpus[:30], corpus, k=40, threads=threads)
        assert np.array_equal(more.indices, one.indices) and np.array_equal(more.scores, one.scores)


@pytest.mark.parametrize("metric", ["cosine", "dot"])
@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_the_library_scans_whatever_it_can(metric, kind, engine, monkeypatch):
    if engine == "library":
        monkeypatch.setattr(exact, "nearest", None)
    rows = np.eye(4, 3, dtype=kind)
    assert search(rows[:2], rows, k=1, metric=metric).indices.tolist() == [[0], [1]]


def test_a_product_is_of_1024_queries_and_8192_rows_at_most(monkeypatch):
    sizes = []

    def compare(queries, rows):
        sizes.append((len(queries), len(rows)))
        return np.zeros((len(queries), len(rows)), np.float32)

    monkeypatch.setattr(exact, "_best", lambda scores, k: exact.Hits(np.zeros((len(scores), k), int), scores[:, :k]))
    exact.nearest(np.zeros((1025, 1), np.float32), np.zeros((8193, 1), np.float32), 1, compare)
    assert sizes == [(1024, 8192), (1, 8192), (1024, 1), (1, 1)]  # a block of rows is prepared once for all queries


def test_ten_are_found_by_default_and_by_cosine():
    corpus = np.random.default_rng(4).normal(size=(30, 3)).astype(np.float32)
    default, explicit = search(corpus[:2], corpus), search(corpus[:2], corpus, k=10, metric="cosine")
    assert default.indices.shape == (2, 10) and default.indices.tolist() == explicit.indices.tolist()
    assert search(corpus[:2], corpus, k=30).indices.shape == (2, 30)
