"""Search in int8 or one-bit vectors: a fast scan chooses candidates, and their full vectors decide the ranking.

The scan uses the compiled library if it is available, and NumPy otherwise; both find the same candidates.
"""

from dataclasses import replace

import numpy as np

from ..array_types import Shaped
from ..arrays.quantization import BitVectors, Int8Vectors, int8_products, sign_agreement
from ..arrays.similarity import check_finite_rows, number_table, unit, unit_cosine
from ..errors import BadInput
from ..native import scanning
from ..native.scanning import Hits, Scan
from ..runtime.arguments import whole_number
from .exact import Mask, checked_mask, checked_threads, is_scannable, nearest

CANDIDATES = {Int8Vectors: 2, BitVectors: 20}
"""Number of candidates per requested row that are rescored with full vectors (benchmarks/search.py measures recall)."""


def search_quantized(
    queries: Shaped[np.ndarray, "Q D"],
    quantized: Int8Vectors | BitVectors,
    k: int = 10,
    *,
    vectors: Shaped[np.ndarray, "N D"] | None = None,
    rescore: int | None = None,
    mask: Mask | None = None,
    threads: int | None = None,
) -> Hits:
    """The k rows with the greatest cosine for each query, found by a scan of the quantized vectors.

    Args:
        quantized: from `quantize_int8` or `quantize_bits`.
        vectors: the original vectors, for exact cosines of the `rescore * k` best candidates. If None, scores come from
            the scan: approximate cosines for int8; for bits, the share of equal signs minus the share of unequal ones.
        rescore: number of candidates per requested row, 1 or more (default: `CANDIDATES`).
        mask: true for rows to search; None searches all rows.
    """
    k, mask = whole_number("k", k), checked_mask(mask, len(quantized))
    queries = number_table(queries, "queries")
    if queries.ndim != 2 or queries.shape[1] != quantized.dimension:
        raise BadInput(f"expected queries of shape (Q, {quantized.dimension}), like the vectors; got {queries.shape}")
    check_finite_rows(queries, "queries")
    factor = CANDIDATES[type(quantized)] if rescore is None else whole_number("rescore", rescore)
    threads = checked_threads(threads)
    if vectors is None:
        return _scanned(queries, quantized, k, mask, threads)
    vectors = number_table(vectors, "vectors")
    if vectors.shape != (len(quantized), quantized.dimension):
        raise BadInput(
            f"expected the vectors that were quantized, of shape {(len(quantized), quantized.dimension)}; got "
            f"{vectors.shape}"
        )
    return _rescored(queries, vectors, _scanned(queries, quantized, k * factor, mask, threads), k, threads)


def _rescored(
    queries: Shaped[np.ndarray, "Q D"], vectors: Shaped[np.ndarray, "N D"], candidates: Hits, k: int, threads: int
) -> Hits:
    """The k candidates with the greatest cosine for each query, best first; in a tie, the earlier row wins."""
    listed = np.sort(candidates.indices, axis=1)
    if is_scannable(queries, vectors):
        scan = Scan(unit(queries), vectors, vectors.shape[1], cosine=True, threads=threads)
        return scanning.best_listed(scan, listed, k)
    parts = [nearest(unit(queries[[i]]), vectors[rows], k, unit_cosine, prepare=unit) for i, rows in enumerate(listed)]
    indices = [rows[part.indices[0]] for rows, part in zip(listed, parts, strict=True)]
    shape = len(queries), min(k, listed.shape[1])
    scores = np.array([part.scores[0] for part in parts], np.float32).reshape(shape)
    return Hits(np.array(indices, np.int64).reshape(shape), scores)


def _scanned(
    queries: Shaped[np.ndarray, "Q D"], quantized: Int8Vectors | BitVectors, k: int, mask: Mask | None, threads: int
) -> Hits:
    coded = quantized.encode(queries)
    if not scanning.available():
        compare = int8_products if isinstance(quantized, Int8Vectors) else sign_agreement
        return nearest(coded, quantized, k, compare, mask=mask)
    scan = Scan(coded.codes, quantized.codes, quantized.dimension, mask=mask, threads=threads)
    if isinstance(coded, Int8Vectors) and isinstance(quantized, Int8Vectors):
        return scanning.best_rows(replace(scan, scales=quantized.scales, query_scales=coded.scales), k)
    found = scanning.best_rows(scan, k)
    return Hits(found.indices, found.scores / np.float32(quantized.dimension))
