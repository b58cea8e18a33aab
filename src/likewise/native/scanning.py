"""Scans by the compiled library: queries against every row of a corpus, in float32, float16, int8 or bits.

A score has the same bits whatever else is in the call, on one thread or many, and the best rows are those of a full
sort by score and row.
"""

import ctypes
from ctypes import POINTER, c_char_p, c_float, c_int32, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from ..errors import BadInput, NativeUnavailable
from .library import MESSAGE, CompiledLibrary, check_code, load_library

Array = np.ndarray
TYPES = {"float32": 0, "float16": 1, "int8": 3, "uint8": 4}
"""Numbers of what vectors are stored in, by NumPy's names; rows of uint8 hold eight signs a byte."""
NEAR = 64.0
"""In rounding errors of float32, or the width if that is more: cosines that near 1 are computed from differences."""


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


class BestRows(NamedTuple):
    """The best rows of each query, best first; `counts` is how many there are, as far as `rows` and `scores` count."""

    counts: Int[Array, " Q"]
    rows: Int[Array, "Q k"]
    scores: Float[Array, "Q k"]


class RowsAbove(NamedTuple):
    """Rows above a threshold, by query and row."""

    queries: Int[Array, " P"]
    rows: Int[Array, " P"]
    scores: Float[Array, " P"]


@dataclass(frozen=True)
class Scan:
    """Queries and the corpus that they are compared with.

    The corpus is float32, float16, int8, or uint8 with eight signs a byte (the first in the lowest bit). Queries are
    of its type, but float32 where it is float16. The scores of int8 are multiplied by `scales` of rows and of queries;
    those of signs are how many are equal, minus how many differ.
    """

    queries: Shaped[Array, "Q D"]
    corpus: Shaped[Array, "N D"]
    width: int
    """Numbers of a vector; of signs, eight lie in a byte."""
    cosine: bool = False
    """Whether scores are divided by the lengths of rows, which are floats; queries must have length 1."""
    scales: Float[Array, " N"] | None = None
    query_scales: Float[Array, " Q"] | None = None
    mask: Bool[Array, " N"] | None = None
    """The rows that are compared; None: all."""
    threads: int = 1

    def best(
        self,
        k: int,
        listed: Int[Array, "Q C"] | None = None,
        *,
        library: CompiledLibrary | None = None,
        instructions: str | None = None,
    ) -> BestRows:
        """The k rows of greatest score for each query, best first; of equal scores the earlier.

        A query is compared only with the rows listed for it, if any are.
        """
        listed = None if listed is None else np.sort(listed, axis=1).astype(np.int64, copy=False)
        size = (len(self.queries), min(k, len(self.corpus) if listed is None else listed.shape[1]))
        found = BestRows(np.zeros(size[0], np.int64), np.empty(size, np.int64), np.empty(size, np.float32))
        if 0 in size:
            return found
        lists = (None, 0) if listed is None else (listed.ctypes.data, listed.shape[1])
        request = _Best(*lists, size[1], *(x.ctypes.data for x in found))
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
        """All rows whose score is at least the threshold, by query and row; None if there are more than `room`.

        `later_than` is a row number: query i has only the rows after `later_than + i`.
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
        check_code(call(name, ctypes.byref(structure), ctypes.byref(request), message, MESSAGE), message)

    def _structure(self, alive: list[Any]) -> _Scan:
        kind = self.corpus.dtype.name
        if kind not in TYPES or not self.corpus.dtype.isnative:
            raise BadInput(f"vectors are {kind}; the compiled library scans {', '.join(TYPES)}")
        queries = np.ascontiguousarray(self.queries, np.float32 if kind == "float16" else kind)
        corpus = np.require(self.corpus, requirements=["A"])
        if len(corpus) and corpus.strides[1] != corpus.itemsize:
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
        """Lengths and widths, since the library reads as far as it is told."""
        stored = (self.width + 7) // 8 if corpus.dtype == np.uint8 else self.width
        if corpus.shape[1:] != (stored,) or queries.shape[1:] != (stored,):
            raise BadInput(f"expected tables of {stored} columns; got {queries.shape} and {corpus.shape}")
        lengths = ((scales[0], corpus), (scales[1], queries), (self.mask, corpus))
        for numbers, table in lengths:
            if numbers is not None and numbers.shape != table.shape[:1]:
                raise BadInput(f"expected {len(table)} numbers, one a row; got an array of shape {numbers.shape}")


def available() -> bool:
    """Whether there is a compiled library in this installation."""
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
