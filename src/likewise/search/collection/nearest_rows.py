"""The nearest rows of a snapshot: each segment is searched by itself, and the best of all are kept."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float32

from ...runtime.cancellation import check_cancelled
from ..exact import search
from ..hits import Hits, merged, no_hits
from ..quantized import search_quantized
from .quantized_segments import QuantizedSegments
from .storage.snapshot import SegmentRows, Snapshot


def nearest_rows(
    queries: Float32[np.ndarray, "Q E"],
    snapshot: Snapshot,
    masks: Sequence[Bool[np.ndarray, "..."]],
    k: int,
    quantized: QuantizedSegments,
) -> Hits:
    """The k rows of greatest cosine among those that the masks pass, best first; ties: the earlier row."""
    quantized.forget({segment.number for segment in snapshot.segments})
    parts = [
        _of_segment(queries, segment, mask, k, quantized)
        for segment, mask in zip(snapshot.segments, masks, strict=True)
        if mask.any()
    ]
    return merged((no_hits(len(queries)), *parts), k)


def _of_segment(
    queries: Float32[np.ndarray, "Q E"],
    segment: SegmentRows,
    mask: Bool[np.ndarray, " n"],
    k: int,
    quantized: QuantizedSegments,
) -> Hits:
    check_cancelled()
    scanned, passing = quantized.of(segment), None if mask.all() else mask
    if scanned is None:
        hits = search(queries, segment.vectors, k, mask=passing)
    else:
        hits = search_quantized(queries, scanned, k, vectors=segment.vectors, mask=passing)
    return Hits(hits.indices + segment.first, hits.scores)
