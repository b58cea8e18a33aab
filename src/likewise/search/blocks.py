"""Scans of a corpus a block at a time by the compiled library, whether the corpus is in memory or in a file."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from ..engines.native.scanning import Scan, available
from .hits import Hits, merged, no_hits

STREAMED = 1 << 28  # bytes of a corpus in one call: between calls an interrupt is noticed
QUERIES = 4096  # in one call
KEPT = 1 << 21  # hits kept in one call, of all queries: 32 MB a thread

__all__ = ["available", "best_listed", "best_rows"]


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
