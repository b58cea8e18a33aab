"""Exact search: compare every query with every vector, one block of queries and one block of the corpus at a time.

Cosines and dot products of float32 and float16 vectors are computed by the compiled library if it is available, and
otherwise by NumPy. A corpus may be a `numpy.memmap` larger than memory.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Bool, Float, Float32, Float64, Shaped
from ..arrays.quantization import BitVectors, Int8Vectors
from ..arrays.similarity import SIMILARITIES, check_finite_rows, number_table, unit, unit_cosine
from ..errors import BadInput
from ..native import scanning
from ..native.scanning import Hits, Scan, merged, no_hits
from ..native.threads import thread_count
from ..runtime.arguments import known_name, whole_number

BLOCK = 8192  # corpus rows per matrix multiplication
QUERIES = 1024  # query rows per matrix multiplication: 32 MB of scores in float32
UNIT_ROWS = 1024  # rows scaled to unit length at a time, few enough to fit in the cache
LONGEST = 1e15
"""If the norm of a query is below this, sums in the compiled library cannot overflow, or it rejects the row."""

Mask = Bool[np.ndarray, " N"]


def search(
    queries: Shaped[np.ndarray, "Q D"],
    corpus: Shaped[np.ndarray, "N D"],
    k: int = 10,
    *,
    metric: str = "cosine",
    mask: Mask | None = None,
    threads: int | None = None,
) -> Hits:
    """The k most similar rows of the corpus for each query; fewer if the corpus is smaller. In a tie, earlier rows win.

    Besides its arguments, the search needs memory for k hits per query and one block of scores. With the compiled
    library, the result does not depend on the number of threads.

    Args:
        corpus: one vector per row, in memory or memory-mapped.
        mask: true for each row to search; the other rows are not read. None searches all rows.
        threads: number of threads of the compiled library (default: `thread_count()`).

    Raises:
        BadInput: the shapes do not match, the metric is unknown, or a row contains NaN or infinity.
    """
    k, metric = whole_number("k", k), known_name("metric", metric, SIMILARITIES)
    if isinstance(corpus, Int8Vectors | BitVectors):
        raise BadInput(f"the corpus is {type(corpus).__name__}, but search needs an array: use search_quantized")
    queries, corpus = number_table(queries, "queries"), number_table(corpus, "corpus")
    shapes = queries.shape, corpus.shape
    if [len(shape) for shape in shapes] != [2, 2] or shapes[0][1] != shapes[1][1]:
        raise BadInput(
            f"expected queries (Q, D) and a corpus (N, D) of equal dimension; got {shapes[0]} and {shapes[1]}"
        )
    check_finite_rows(queries, "queries")
    mask, threads = checked_mask(mask, len(corpus)), checked_threads(threads)
    if metric == "cosine":
        return nearest_units(unit(queries), corpus, k, mask, threads)
    if metric == "dot" and is_scannable(queries, corpus) and _are_short(queries):
        with suppress(BadInput):  # NumPy reports the row that is not finite, or handles a possible overflow
            queries = queries.astype(np.float32, copy=False)
            scan = Scan(queries, corpus, corpus.shape[1], mask=mask, threads=threads)
            return scanning.best_rows(scan, k)
    _check_finite(corpus, mask)
    return nearest(queries, corpus, k, SIMILARITIES[metric], mask=mask)


def nearest_units(
    queries: Float[np.ndarray, "Q D"], corpus: Shaped[np.ndarray, "N D"], k: int, mask: Mask | None, threads: int
) -> Hits:
    """Like `search` by cosine, but for unit-length queries and arguments that are already checked."""
    if is_scannable(queries, corpus):
        with suppress(BadInput):  # NumPy reports the row that is not finite
            scan = Scan(queries, corpus, corpus.shape[1], cosine=True, mask=mask, threads=threads)
            return scanning.best_rows(scan, k)
    _check_finite(corpus, mask)
    return nearest(queries, corpus, k, unit_cosine, prepare=unit, mask=mask)


def is_scannable(queries: np.ndarray, corpus: np.ndarray) -> bool:
    """Whether the compiled library is available and supports these types; float64 is searched with NumPy, unrounded."""
    floats = corpus.dtype in (np.float32, np.float16) and queries.dtype in (np.float32, np.float16)
    return floats and corpus.shape[1] > 0 and scanning.available()


def _are_short(queries: np.ndarray) -> bool:
    return float(np.abs(queries).max(initial=0)) < LONGEST / math.sqrt(queries.shape[1])  # 1e15 exceeds float16


def _check_finite(corpus: np.ndarray, mask: Mask | None) -> None:
    """Like `check_finite_rows`, but only for the rows in the mask."""
    if mask is None:
        return check_finite_rows(corpus, "corpus")
    for start in range(0, len(corpus), BLOCK):
        rows = np.flatnonzero(mask[start : start + BLOCK]) + start
        bad = rows[~np.isfinite(corpus[rows]).all(axis=1)]
        if len(bad):
            raise BadInput(f"corpus[{bad[0]}] contains NaN or infinity; expected finite numbers")
    return None


def checked_mask(mask: object, rows: int) -> Mask | None:
    if mask is None:
        return None
    found = np.asarray(mask)
    if found.dtype != np.bool_ or found.shape != (rows,):
        raise BadInput(f"mask has type {found.dtype} and shape {found.shape}; expected {rows:,} booleans, one per row")
    return found


def checked_threads(threads: int | None) -> int:
    return thread_count() if threads is None else whole_number("threads", threads)


def nearest(
    queries: Any,
    corpus: Any,
    k: int,
    compare: Callable[..., Float[np.ndarray, "M N"]],
    *,
    prepare: Callable[[Any], Any] = lambda rows: rows,
    mask: Mask | None = None,
) -> Hits:
    """Like `search`, but without checks, and by the similarities that `compare` returns for queries and prepared rows.

    Queries and rows may be arrays, or anything else that can be sliced by row.
    """
    starts = range(0, len(queries), QUERIES)
    best = [no_hits(len(queries[first : first + QUERIES])) for first in starts]
    for start in range(0, len(corpus), BLOCK):
        block = corpus[start : start + BLOCK]
        numbers = np.arange(len(block)) if mask is None else np.flatnonzero(mask[start : start + BLOCK])
        rows = prepare(block if mask is None else block[numbers])
        for i, first in enumerate(starts):
            with np.errstate(over="ignore"):  # values beyond float32's range become infinite, and are rejected
                scores = compare(queries[first : first + QUERIES], rows).astype(np.float32, copy=False)
            if not np.isfinite(scores).all():
                what = f"the {compare.__name__} similarity of a query and a row is NaN or infinite"
                raise BadInput(f"the numbers are too large: {what}")
            found = _best(scores, k)
            best[i] = merged((best[i], Hits(numbers[found.indices] + start, found.scores)), k)
    return Hits(*(np.concatenate(columns) for columns in zip(*best, strict=True))) if best else no_hits(0)


def _best(scores: Float[np.ndarray, "Q n"], k: int) -> Hits:
    """The columns of the k greatest scores in each row, in column order; earlier columns win ties at the cut-off."""
    if k >= scores.shape[1]:
        return Hits(np.broadcast_to(np.arange(scores.shape[1]), scores.shape), scores)
    edge = np.partition(scores, -k)[:, -k, None]
    above, level = scores > edge, scores == edge
    expected = k - above.sum(1, keepdims=True)
    tied = np.flatnonzero(level.sum(1) > expected[:, 0])
    level[tied] &= level[tied].cumsum(1) <= expected[tied]
    indices = np.nonzero(above | level)[1].reshape(-1, k)
    return Hits(indices, np.take_along_axis(scores, indices, 1))


class UnitRows(NamedTuple):
    """N rows of unit length (or zero) and their original norms. A zero row has cosine 0 with every vector."""

    rows: Float[np.ndarray, "N E"]
    lengths: Float64[np.ndarray, " N"]

    @classmethod
    def of(cls, vectors: Float32[np.ndarray, "N E"], dtype: str = "float32") -> "UnitRows":
        """Scale rows to unit length and round them to `dtype`, in blocks that fit in the cache."""
        rows, lengths = np.empty(vectors.shape, dtype), np.empty(len(vectors))
        for start in range(0, len(vectors), UNIT_ROWS):
            block = vectors[start : start + UNIT_ROWS]
            rows[start : start + UNIT_ROWS] = unit(block)
            lengths[start : start + UNIT_ROWS] = np.sqrt(np.einsum("ne,ne->n", block, block, dtype=np.float64))
        return cls(rows, lengths)

    def original(self) -> Float32[np.ndarray, "N E"]:
        """The original rows, up to rounding."""
        return np.asarray(self.rows.astype(np.float32) * self.lengths[:, None], np.float32)


def checked_queries(queries: Shaped[np.ndarray, "Q E"], dimension: int) -> Float32[np.ndarray, "Q E"]:
    """The queries, checked and scaled to unit length."""
    table = number_table(queries, "queries")
    if table.ndim != 2 or table.shape[1] != dimension:
        raise BadInput(f"expected queries of shape (Q, {dimension}), like the vectors of this index; got {table.shape}")
    check_finite_rows(table, "queries")
    return unit(table).astype(np.float32, copy=False)  # at unit length, float64 values fit into float32
