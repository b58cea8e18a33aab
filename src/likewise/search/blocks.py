"""Scans of a corpus a block at a time by the compiled library, whether the corpus is in memory or in a file."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int, Shaped

from ..native.scanning import RowsAbove, Scan, available
from .hits import Hits, merged, no_hits

STREAMED = 1 << 28  # bytes of a corpus in one call: between calls an interrupt is noticed
QUERIES = 4096  # in one call
KEPT = 1 << 21  # hits kept in one call, of all queries: 32 MB a thread

ROOM = 1 << 21  # pairs in one call, or as many as a query can have

__all__ = ["available", "best_listed", "best_rows", "later_rows_above"]


def best_rows(scan: Scan, k: int) -> Hits:
    """The k best rows for each query, best first, equal scores in the order of the rows; fewer where there are fewer.

    Raises:
        BadInput: a row holds a number that is NaN or infinite, or a score overflows.
    """
    step = max(1, min(QUERIES, KEPT // k))
    starts = range(0, len(scan.queries), step)
    best = [no_hits(len(scan.queries[start : start + step])) for start in starts]
    for rows in row_blocks(scan):
        part = _rows_of(scan, rows)
        for i, start in enumerate(starts):
            found = _queries_of(part, slice(start, start + step)).best(k)
            width = int(found.counts[0]) if len(found.counts) else 0  # every query is compared with the same rows
            hits = Hits(found.rows[:, :width] + rows.start, found.scores[:, :width])
            best[i] = merged((best[i], hits), k)
    return Hits(*(np.concatenate(columns) for columns in zip(*best, strict=True))) if best else no_hits(0)


def best_listed(scan: Scan, listed: Int[np.ndarray, "Q C"], k: int) -> Hits:
    """As `best_rows`, where each query is compared with the rows that are listed for it, and no others."""
    found = scan.best(k, listed)
    return Hits(found.rows, found.scores)


def later_rows_above(
    rows: Float[np.ndarray, "n D"], corpus: Shaped[np.ndarray, "N D"], start: int, threshold: float, threads: int
) -> RowsAbove:
    """Pairs of these rows of length 1, which begin at row `start` of the corpus, with all later rows that near.

    Both are numbered as in the corpus, and come by row.
    """
    found: list[RowsAbove] = []
    whole = Scan(rows, corpus[start:], corpus.shape[1], cosine=True, threads=threads)
    for block in row_blocks(whole):
        found.extend(_above(_rows_of(whole, block), 0, threshold, block.start))
    queries, later, scores = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.lexsort((later, queries))
    return RowsAbove(queries[order] + start, later[order] + start, scores[order])


def _above(scan: Scan, first: int, threshold: float, begin: int) -> Iterator[RowsAbove]:
    """Pairs of all queries, numbered from `first` on; where they are too many, of half of the queries at a time."""
    found = scan.above(threshold, later_than=first - begin, room=max(ROOM, len(scan.corpus)))
    if found is not None:
        yield RowsAbove(found.queries + first, found.rows + begin, found.scores)
    else:
        half = len(scan.queries) // 2
        yield from _above(_queries_of(scan, slice(0, half)), first, threshold, begin)
        yield from _above(_queries_of(scan, slice(half, None)), first + half, threshold, begin)


def row_blocks(scan: Scan) -> Iterator[slice]:
    """Blocks of rows of bounded size; without a corpus there are none."""
    step = max(1, STREAMED // max(1, scan.corpus[:1].nbytes)) // 8 * 8 or 8
    for start in range(0, len(scan.corpus), step):
        yield slice(start, min(start + step, len(scan.corpus)))


def _rows_of(scan: Scan, rows: slice) -> Scan:
    scales, mask = (None if x is None else x[rows] for x in (scan.scales, scan.mask))
    return replace(scan, corpus=scan.corpus[rows], scales=scales, mask=mask)


def _queries_of(scan: Scan, some: slice) -> Scan:
    scales = None if scan.query_scales is None else scan.query_scales[some]
    return replace(scan, queries=scan.queries[some], query_scales=scales)
