"""Scans of every instruction set: the same bits, whole numbers exactly, floats against fp64, in any company."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.engines.native.library import Library
from likewise.errors import BadInput
from likewise.native import scanning
from likewise.native.scanning import Hits, Scan, best_listed, best_rows, later_rows_above, merged, no_hits
from tests.native.conftest import check_same_bits

LARGEST = 1 << 20  # queries, and dimensions
WIDEST_INT8 = (1 << 17) - 1  # dimensions of which every score fits into 32 bits
sizes = st.tuples(st.integers(1, 40), st.integers(1, 120), st.integers(1, 90))


def every_score(scan: Scan, library: Library, name: str) -> np.ndarray:
    found = scan.best(len(scan.corpus), library=library, instructions=name)
    scores = np.empty(found.scores.shape, np.float32)
    np.put_along_axis(scores, found.rows, found.scores, 1)
    return scores


@given(size=sizes, seed=st.integers(0, 99))
def test_int8_scores_are_exact(library: Library, size: tuple[int, int, int], seed: int) -> None:
    draw = np.random.default_rng(seed)
    a, b = (draw.integers(-127, 128, (rows, size[2])).astype(np.int8) for rows in size[:2])
    wanted = a.astype(np.int64) @ b.astype(np.int64).T
    for name in library.instruction_sets:
        assert np.array_equal(every_score(Scan(a, b, size[2]), library, name), wanted), name


@pytest.mark.parametrize("queries", range(1, 6))  # up to four go along the rows' bytes, more by panels
@pytest.mark.parametrize("width", [1, 5, 63, 64, 65, 130, 192, 4096, 4097])
def test_int8_scores_of_few_queries_are_exact_at_any_width(library: Library, queries: int, width: int) -> None:
    draw = np.random.default_rng(width)
    a, b = (draw.integers(-127, 128, (rows, width)).astype(np.int8) for rows in (queries, 37))
    wanted = a.astype(np.int64) @ b.astype(np.int64).T
    for name in library.instruction_sets:
        found = every_score(Scan(a, b, width), library, name)
        assert np.array_equal(found, wanted.astype(np.float32)), name


@given(size=sizes, seed=st.integers(0, 99))
def test_scores_of_bits_are_equal_ones_minus_others(library: Library, size: tuple[int, int, int], seed: int) -> None:
    draw = np.random.default_rng(seed)
    a, b = (draw.integers(0, 2, (rows, size[2])) for rows in size[:2])
    wanted = (2 * a - 1) @ (2 * b - 1).T
    packed = [np.packbits(x.astype(bool), axis=1, bitorder="little") for x in (a, b)]
    for name in library.instruction_sets:
        assert np.array_equal(every_score(Scan(*packed, size[2]), library, name), wanted), name


@given(size=sizes, seed=st.integers(0, 99), kind=st.sampled_from(["float32", "float16"]))
def test_scores_of_floats_are_fp64s_to_rounding(
    library: Library, size: tuple[int, int, int], seed: int, kind: str
) -> None:
    draw = np.random.default_rng(seed)
    a = draw.standard_normal((size[0], size[2]), np.float32)
    b = draw.standard_normal((size[1], size[2]), np.float32).astype(kind)
    wanted = a.astype(float) @ b.astype(float).T
    bound = 1e-6 * (np.abs(a).astype(float) @ np.abs(b).astype(float).T + 1)
    found = check_same_bits(library, lambda name: every_score(Scan(a, b, size[2]), library, name))
    assert (np.abs(found - wanted) <= bound).all()
    unit = (a.T / np.linalg.norm(a, axis=1)).T
    check_same_bits(library, lambda name: every_score(Scan(unit, b, size[2], cosine=True), library, name))


@pytest.mark.parametrize("value", [127, -127])
def test_int8_scores_do_not_saturate(library: Library, value: int) -> None:
    a, b = np.full((3, 1000), 127, np.int8), np.full((50, 1000), value, np.int8)
    for name in library.instruction_sets:
        assert (every_score(Scan(a, b, 1000), library, name) == 127 * value * 1000).all(), name


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_a_score_has_the_same_bits_in_any_company_and_on_any_threads(library: Library, kind: str) -> None:
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((45, 75), np.float32), draw.standard_normal((130, 75), np.float32).astype(kind)
    for name in library.instruction_sets:
        together = every_score(Scan(a, b, 75), library, name)
        for rows, queries in (
            (slice(0, 1), slice(3, 4)),
            (slice(5, 58), slice(0, 17)),
            (slice(100, 130), slice(8, 45)),
        ):
            scan = Scan(a[queries], b[rows], 75, threads=2)
            assert np.array_equal(every_score(scan, library, name), together[queries, rows]), name


def test_a_corpus_may_be_any_view_of_a_table(library: Library) -> None:
    draw = np.random.default_rng(0)
    a, wide = draw.standard_normal((5, 20), np.float32), draw.standard_normal((40, 40), np.float32)
    views = (wide[:, :20], wide[::3, 20:], wide[:, ::2], wide[::-1, 39:19:-1], wide.T[:, :20], wide[:0, ::2])
    for b in views:
        found = every_score(Scan(a, b, 20), library, library.instruction_sets[0])
        assert np.array_equal(found, every_score(Scan(a, b.copy(), 20), library, library.instruction_sets[0]))
        np.testing.assert_allclose(found, a @ b.T, atol=1e-5)


def test_listed_rows_are_the_only_ones_compared(library: Library) -> None:
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((5, 20), np.float32), draw.standard_normal((90, 20), np.float32)
    listed = np.stack([draw.permutation(90)[:30] for _ in range(5)])
    for name in library.instruction_sets:
        scores = every_score(Scan(a, b, 20), library, name)
        for threads in (1, 3):
            found = Scan(a, b, 20, threads=threads).best(7, listed, library=library, instructions=name)
            for q in range(5):
                order = sorted(listed[q].tolist(), key=lambda row: (-scores[q, row], row))[:7]
                assert found.rows[q].tolist() == order and found.scores[q].tolist() == scores[q, order].tolist()


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_scanned_is_refused(library: Library) -> None:
    x = np.eye(4, dtype=np.float32)
    wrong = {
        r"expected 2-D arrays with 4 columns; got shapes \(4, 3\) and \(4, 4\)": Scan(x[:, :3], x, 4),
        r"expected 2-D arrays with 4 columns; got shapes \(4, 4\) and \(4, 3\)": Scan(x, x[:, :3], 4),
        "float64; the compiled library scans": Scan(x.astype(float), x.astype(float), 4),
        "expected 4 numbers, one per row": Scan(x, x, 4, scales=np.ones(3, np.float32)),
        "threads are 0; wanted 1 to 1024": Scan(x, x, 4, threads=0),
        "threads are 1025; wanted 1 to 1024": Scan(x, x, 4, threads=1025),
        "4 rows, 4 queries, width 0": Scan(x[:, :0], x[:, :0], 0),
        "1 rows, 1 queries, width 1048577": Scan(*[np.ones((1, LARGEST + 1), np.int8)] * 2, LARGEST + 1),
        "vectors have 131072 dimensions; in int8, expected at most 131071": Scan(
            *[np.ones((1, WIDEST_INT8 + 1), np.int8)] * 2, WIDEST_INT8 + 1
        ),
        "1 rows, 1048577 queries, width 1": Scan(np.ones((LARGEST + 1, 1), np.int8), np.ones((1, 1), np.int8), 1),
        "row 0 is so long that its scores may overflow": Scan(x, 2e23 * x, 4),
        "row 1 is not finite": Scan(x, np.where(np.arange(4)[:, None] == 1, np.nan, x).astype(np.float32), 4),
    }
    for message, scan in wrong.items():
        with pytest.raises(BadInput, match=message):
            scan.best(2, library=library)
    with pytest.raises(BadInput, match="row 9 is listed; wanted ascending ones below 4"):
        Scan(x, x, 4).best(2, np.array([[0, 9]] * 4), library=library)


def test_the_largest_scans_are_computed(library: Library) -> None:
    ones = np.ones((1, 1), np.int8)
    assert (Scan(np.ones((LARGEST, 1), np.int8), ones, 1).best(1, library=library).scores == 1).all()
    wide = np.ones((1, LARGEST), np.float32)
    assert Scan(wide, wide, LARGEST, threads=1024).best(1, library=library).scores == LARGEST
    lowest = np.full((1, WIDEST_INT8), -128, np.int8)
    for name in library.instruction_sets:
        best = Scan(lowest, lowest, WIDEST_INT8).best(1, library=library, instructions=name)
        assert best.scores == np.float32(128 * 128 * WIDEST_INT8), name


@pytest.mark.parametrize("factor", [1e-25, 1e-16, 1.0, 1e16, 3e18])
@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_cosines_do_not_depend_on_the_length_of_a_row(library: Library, kind: str, factor: float) -> None:
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((3, 20), np.float32), draw.standard_normal((40, 20), np.float32)
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    if kind == "float16":
        factor = float(np.clip(factor, 1e-3, 1e3))  # which vanish or overflow less far off
    rows = (b * np.float32(factor)).astype(kind)
    wanted = (a.astype(float) @ rows.astype(float).T) / np.linalg.norm(rows.astype(float), axis=1)
    for name in library.instruction_sets:
        found = every_score(Scan(a, rows, 20, cosine=True), library, name)
        assert np.abs(found - wanted).max() < 1e-6, name


def test_cosines_near_one_are_told_apart_and_none_is_below_minus_one(library: Library) -> None:
    draw = np.random.default_rng(0)
    a = draw.standard_normal((1, 300), np.float32)
    a /= np.linalg.norm(a)
    rows = np.concatenate([a * 3, -a * 3, a * 3 + draw.standard_normal((20, 300), np.float32) * 1e-4])
    exact = (a.astype(float) @ rows.astype(float).T / np.linalg.norm(rows.astype(float), axis=1) / np.linalg.norm(a))[0]
    for name in library.instruction_sets:
        found = every_score(Scan(a, rows, 300, cosine=True), library, name)[0]
        assert np.abs(found - exact).max() < 1e-7 and found.min() >= -1, name


def test_more_pairs_than_there_is_room_for_are_none(library: Library) -> None:
    x = np.ones((30, 4), np.float32)
    assert Scan(x, x, 4).above(1.0, room=899, library=library) is None
    found = Scan(x, x, 4, threads=3).above(1.0, room=900, library=library)
    assert found is not None and found.rows.tolist() == [*range(30)] * 30
    later = Scan(x, x, 4).above(1.0, later_than=0, library=library)
    assert later is not None and [*zip(later.queries, later.rows, strict=True)] == [
        (i, j) for i in range(30) for j in range(i + 1, 30)
    ]


@pytest.mark.parametrize("streamed", [1, 200, 1 << 28])
@pytest.mark.parametrize("queries", [1, 3, 7, 4096])
@pytest.mark.parametrize("kept", [1, 15, 1 << 21])
def test_blocks_of_rows_and_parts_of_queries_change_no_hit(
    library: Library, streamed: int, queries: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(0)
    a, b = (draw.integers(-2, 3, (rows, 6)).astype(np.int8) for rows in (7, 50))  # with many ties
    scales, query_scales = draw.random(50).astype(np.float32), draw.random(7).astype(np.float32)
    scan = Scan(a, b, 6, scales=scales, query_scales=query_scales, mask=draw.random(50) < 0.8)
    assert scan.mask is not None
    products = (a.astype(np.int64) @ b.astype(np.int64).T).astype(np.float32)
    scores = products * scales * query_scales[:, None]
    rows = np.flatnonzero(scan.mask).tolist()
    for name, value in (("STREAMED", streamed), ("QUERIES", queries), ("KEPT", kept)):
        monkeypatch.setattr(scanning, name, value)
    for k in (1, 5, 99):
        found = best_rows(scan, k)
        np.testing.assert_allclose(np.take_along_axis(scores, found.indices, 1), found.scores, rtol=1e-5)
        assert found.indices.shape == (7, min(k, len(rows)))
        for q in range(7):
            best = np.sort(scores[q, rows])[::-1][: min(k, len(rows))]
            np.testing.assert_allclose(found.scores[q], best, rtol=1e-5)
    plain = best_rows(Scan(a, b, 6), 50)
    assert plain.indices.tolist() == [sorted(range(50), key=lambda i, q=q: (-products[q, i], i)) for q in range(7)]
    assert best_rows(Scan(a[:0], b, 6), 3).indices.shape == (0, 0)
    assert best_rows(Scan(a, b[:0], 6), 3).indices.shape == (7, 0)


def test_a_query_and_a_corpus_that_fit_are_scanned_at_once(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "merged", None)  # of blocks
    rows = np.eye(3, dtype=np.float32)
    assert best_rows(Scan(rows[:1], rows, 3), 2).indices.tolist() == [[0, 1]]


@pytest.mark.parametrize("room", [1, 1 << 21])
@pytest.mark.parametrize("streamed", [1, 1 << 28])
def test_pairs_with_later_rows_are_all_of_them_and_in_order(
    library: Library, room: int, streamed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).standard_normal((40, 5), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows.astype(float) @ rows.astype(float).T
    monkeypatch.setattr(scanning, "ROOM", room)
    monkeypatch.setattr(scanning, "STREAMED", streamed)
    for start, threshold in ((0, 0.3), (7, -1.0), (30, 0.3)):
        found = later_rows_above(rows[start : start + 10], rows, start, threshold, 2)
        wanted = [
            (i, j) for i in range(start, min(start + 10, 40)) for j in range(i + 1, 40) if cosines[i, j] >= threshold
        ]
        assert [*zip(found.queries.tolist(), found.rows.tolist(), strict=True)] == wanted
        np.testing.assert_allclose(found.scores, [cosines[pair] for pair in wanted], atol=1e-6)


def test_parts_are_merged_best_first_and_of_equals_the_earlier_part_counts(library: Library) -> None:
    parts = [
        Hits(np.array([[1, 2]]), np.array([[3.0, 1.0]], np.float32)),
        no_hits(1),
        Hits(np.array([[8, 9]]), np.array([[3.0, 2.0]], np.float32)),
    ]
    found = merged(parts, 3)
    assert found.indices.tolist() == [[1, 8, 9]] and found.scores.tolist() == [[3.0, 3.0, 2.0]]
    assert merged(parts, 9).indices.tolist() == [[1, 8, 9, 2]]
    assert no_hits(3).indices.shape == no_hits(3).scores.shape == (3, 0)
    x = np.eye(4, dtype=np.float32)
    listed = best_listed(Scan(x, x, 4), np.array([[3, 0], [2, 3], [1, 2], [0, 1]]), 1)
    assert listed.indices.tolist() == [[0], [2], [2], [0]] and listed.scores.tolist() == [[1.0], [0.0], [1.0], [0.0]]
