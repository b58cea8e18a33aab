"""Scans with the compiled library: compare queries with every row of a corpus, in float32, float16, int8 or bits.

The corpus is in memory or in a file, and is scanned one block at a time. Scores do not depend on batching or on the
number of threads, and the best rows are those of a full sort by score and row.
"""

import ctypes
from collections.abc import Iterable, Iterator
from ctypes import POINTER, c_char_p, c_float, c_int32, c_int64, c_size_t, c_void_p
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Bool, Float, Int, Shaped
from ..errors import BadInput, NativeUnavailable
from .library import MESSAGE, CompiledLibrary, load_library, native_error

Array = np.ndarray
TYPES = {"float32": 0, "float16": 1, "int8": 3, "uint8": 4}
"""The library's codes for types, by NumPy name; uint8 rows hold eight signs per byte."""
NEAR = 64.0
"""Cosines closer to 1 than max(NEAR, dimension) float32 rounding errors are computed from differences of vectors."""


STREAMED = 1 << 28  # bytes of a corpus per call; interrupts are noticed between calls
QUERIES = 4096  # queries per call
KEPT = 1 << 21  # hits kept per call, over all queries: 32 MB per thread
ROOM = 1 << 21  # pairs per call, or as many as one query can have if that is more


class _Scan(ctypes.Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("corpus", "scales", "mask", "query_vectors", "query_scales")),
        *((name, c_int64) for name in ("rows", "row_bytes", "queries")),
        *((name, c_int32) for name in ("width", "type", "cosine", "threads")),
        ("near", c_float),
    )


class _Best(ctypes.Structure):
    _fields_ = (
        ("listed", c_void_p),
        ("listed_count", c_int64),
        ("k", c_int64),
        *((name, c_void_p) for name in ("counts", "rows", "scores")),
    )


class _Above(ctypes.Structure):
    _fields_ = (
        ("threshold", c_float),
        ("later", c_int32),
        ("first", c_int64),
        ("room", c_int64),
        *((name, c_void_p) for name in ("query_numbers", "rows", "scores")),
        ("found", c_int64),
    )


class Hits(NamedTuple):
    """The k nearest rows for each query, best first: row indices in the corpus, and similarities."""

    indices: Int[np.ndarray, "Q k"]
    scores: Float[np.ndarray, "Q k"]


def no_hits(queries: int) -> Hits:
    """The empty result of `queries` queries."""
    return Hits(np.empty((queries, 0), np.int64), np.empty((queries, 0), np.float32))


def merged(parts: Iterable[Hits], k: int) -> Hits:
    """The k best hits over all parts, best first; in a tie, the earlier part wins."""
    indices, scores = (np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Hits(np.take_along_axis(indices, order, 1), np.take_along_axis(scores, order, 1))


class BestRows(NamedTuple):
    """The best rows for each query, best first; `counts` says how many entries of `rows` and `scores` are valid."""

    counts: Int[Array, " Q"]
    rows: Int[Array, "Q k"]
    scores: Float[Array, "Q k"]


class RowsAbove(NamedTuple):
    """Rows above a threshold, ordered by query, then row."""

    queries: Int[Array, " P"]
    rows: Int[Array, " P"]
    scores: Float[Array, " P"]


@dataclass(frozen=True)
class Scan:
    """Queries and the corpus that they are compared with.

    The corpus is float32, float16, int8, or uint8 with eight signs per byte (the first in the lowest bit). Queries
    have the same type, except that they are float32 for a float16 corpus. int8 scores are multiplied by the `scales`
    of rows and of queries; sign scores are the number of equal signs minus the number of different ones.
    """

    queries: Shaped[Array, "Q D"]
    corpus: Shaped[Array, "N D"]
    width: int  # dimensions of a vector; a byte holds eight signs
    cosine: bool = False
    """Whether to divide scores by the norms of the (floating-point) rows; queries must have unit length."""
    scales: Float[Array, " N"] | None = None
    query_scales: Float[Array, " Q"] | None = None
    mask: Bool[Array, " N"] | None = None  # the rows to compare; None means all
    threads: int = 1

    def best(
        self,
        k: int,
        listed: Int[Array, "Q C"] | None = None,
        *,
        library: CompiledLibrary | None = None,
        instructions: str | None = None,
    ) -> BestRows:
        """The k rows with the greatest score for each query, best first; in a tie, the earlier row wins."""
        listed = None if listed is None else np.sort(listed, axis=1).astype(np.int64, copy=False)
        size = (len(self.queries), min(k, len(self.corpus) if listed is None else listed.shape[1]))
        found = BestRows(np.zeros(size[0], np.int64), np.empty(size, np.int64), np.empty(size, np.float32))
        if 0 in size:
            return found
        lists = (None, 0) if listed is None else (listed.ctypes.data, listed.shape[1])
        counts, rows, scores = found
        request = _Best(*lists, size[1], counts.ctypes.data, rows.ctypes.data, scores.ctypes.data)
        self._run("lw_scan_best", request, library, instructions)
        return found

    def above(
        self,
        threshold: float,
        *,
        later_than: int | None = None,
        room: int = 1 << 20,
        library: CompiledLibrary | None = None,
        instructions: str | None = None,
    ) -> RowsAbove | None:
        """All rows that reach the threshold, ordered by query, then row; None if there are more than `room`.

        If the row number `later_than` is given, query i is only compared with the rows after `later_than + i`.
        """
        found = RowsAbove(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float32))
        addresses = (x.ctypes.data for x in found)
        request = _Above(threshold, int(later_than is not None), later_than or 0, room, *addresses)
        self._run("lw_scan_above", request, library, instructions)
        if request.found > room:
            return None
        return RowsAbove(*(x[: request.found].copy() for x in found))

    def _run(self, function: str, request: Any, library: CompiledLibrary | None, instructions: str | None) -> None:
        alive: list[Any] = []
        structure, message = self._structure(alive), ctypes.create_string_buffer(MESSAGE)
        call = getattr(_declared(library or load_library()), function)
        name = instructions.encode() if instructions else None
        if code := call(name, ctypes.byref(structure), ctypes.byref(request), message, MESSAGE):
            raise native_error(code, message)

    def _structure(self, alive: list[Any]) -> _Scan:
        kind = self.corpus.dtype.name
        if kind not in TYPES or not self.corpus.dtype.isnative:
            raise BadInput(f"vectors are {kind}; the compiled library scans {', '.join(TYPES)}")
        queries = np.ascontiguousarray(self.queries, np.float32 if kind == "float16" else kind)
        corpus = np.require(self.corpus, requirements=["A"])
        if corpus.strides[1] != corpus.itemsize:
            corpus = np.ascontiguousarray(corpus)
        mask = None if self.mask is None else np.packbits(self.mask, bitorder="little")
        scales = [None if x is None else np.ascontiguousarray(x, np.float32) for x in (self.scales, self.query_scales)]
        arrays = (corpus, scales[0], mask, queries, scales[1])
        alive.extend(arrays)
        self._check(corpus, queries, scales)
        pointers = [None if x is None else x.ctypes.data for x in arrays]
        near = 1 - max(NEAR, self.width) * np.finfo(np.float32).eps
        sizes = (len(corpus), corpus.strides[0], len(queries), self.width, TYPES[kind], int(self.cosine), self.threads)
        return _Scan(*pointers, *sizes, near)

    def _check(self, corpus: Array, queries: Array, scales: list[Array | None]) -> None:
        """Check lengths and widths, since the library does not."""
        stored = (self.width + 7) // 8 if corpus.dtype == np.uint8 else self.width
        if corpus.shape[1:] != (stored,) or queries.shape[1:] != (stored,):
            raise BadInput(f"expected 2-D arrays with {stored} columns; got shapes {queries.shape} and {corpus.shape}")
        lengths = ((scales[0], corpus), (scales[1], queries), (self.mask, corpus))
        for numbers, table in lengths:
            if numbers is not None and numbers.shape != table.shape[:1]:
                raise BadInput(f"expected {len(table)} numbers, one per row; got an array of shape {numbers.shape}")


def available() -> bool:
    try:
        load_library()
    except NativeUnavailable:
        return False
    return True


@cache
def _declared(library: CompiledLibrary) -> Any:
    c = library.functions
    c.lw_scan_best.argtypes = [c_char_p, POINTER(_Scan), POINTER(_Best), c_char_p, c_size_t]
    c.lw_scan_above.argtypes = [c_char_p, POINTER(_Scan), POINTER(_Above), c_char_p, c_size_t]
    return c


def best_rows(scan: Scan, k: int) -> Hits:
    """The k best rows for each query, best first; in a tie, the earlier row wins."""
    step = max(1, min(QUERIES, KEPT // k))
    if 0 < len(scan.queries) <= step and 0 < scan.corpus.nbytes <= STREAMED:
        return _best_of(scan, k)
    starts = range(0, len(scan.queries), step)
    best = [no_hits(len(scan.queries[start : start + step])) for start in starts]
    for rows in row_blocks(scan):
        part = _rows_of(scan, rows)
        for i, start in enumerate(starts):
            hits = _best_of(_queries_of(part, slice(start, start + step)), k)
            best[i] = merged((best[i], Hits(hits.indices + rows.start, hits.scores)), k)
    return Hits(*(np.concatenate(columns) for columns in zip(*best, strict=True))) if best else no_hits(0)


def _best_of(scan: Scan, k: int) -> Hits:
    counts, rows, scores = scan.best(k)
    width = int(counts[0])  # every query is compared with the same rows
    return Hits(rows[:, :width], scores[:, :width])


def best_listed(scan: Scan, listed: Int[np.ndarray, "Q C"], k: int) -> Hits:
    """Like `best_rows`, but each query is compared only with the rows listed for it."""
    found = scan.best(k, listed)
    return Hits(found.rows, found.scores)


def later_rows_above(
    rows: Float[np.ndarray, "n D"], corpus: Shaped[np.ndarray, "N D"], start: int, threshold: float, threads: int
) -> RowsAbove:
    """Pairs of one of the unit-length `rows` (`rows[0]` is row `start`) and a later row with at least this cosine."""
    found: list[RowsAbove] = []
    whole = Scan(rows, corpus[start:], corpus.shape[1], cosine=True, threads=threads)
    for block in row_blocks(whole):
        found.extend(_above(_rows_of(whole, block), 0, threshold, block.start))
    queries, later, scores = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.lexsort((later, queries))
    return RowsAbove(queries[order] + start, later[order] + start, scores[order])


def _above(scan: Scan, first: int, threshold: float, begin: int) -> Iterator[RowsAbove]:
    """Pairs of all queries, numbered from `first` on; if there are too many pairs, half of the queries at a time."""
    found = scan.above(threshold, later_than=first - begin, room=max(ROOM, len(scan.corpus)))
    if found is not None:
        yield RowsAbove(found.queries + first, found.rows + begin, found.scores)
    else:
        half = len(scan.queries) // 2
        yield from _above(_queries_of(scan, slice(0, half)), first, threshold, begin)
        yield from _above(_queries_of(scan, slice(half, None)), first + half, threshold, begin)


def row_blocks(scan: Scan) -> Iterator[slice]:
    """Blocks of rows of bounded size; yields nothing if the corpus is empty."""
    step = STREAMED // max(1, scan.corpus[:1].nbytes) // 8 * 8 or 8
    for start in range(0, len(scan.corpus), step):
        yield slice(start, min(start + step, len(scan.corpus)))


def _rows_of(scan: Scan, rows: slice) -> Scan:
    scales, mask = (None if x is None else x[rows] for x in (scan.scales, scan.mask))
    return replace(scan, corpus=scan.corpus[rows], scales=scales, mask=mask)


def _queries_of(scan: Scan, some: slice) -> Scan:
    scales = None if scan.query_scales is None else scan.query_scales[some]
    return replace(scan, queries=scan.queries[some], query_scales=scales)
