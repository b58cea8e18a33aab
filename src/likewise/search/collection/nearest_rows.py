"""The nearest rows of a snapshot: each segment is searched by itself, and the best of all are kept."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Float32, Shaped

from ...arrays.similarity import unit, unit_cosine
from ..exact import Hits, nearest
from .snapshot import SegmentRows, Snapshot


def nearest_rows(
    queries: Float32[np.ndarray, "Q E"], snapshot: Snapshot, masks: Sequence[Bool[np.ndarray, "..."]], k: int
) -> Hits:
    """The k rows of greatest cosine among those that the masks pass, best first; ties: the earlier row."""
    found = [
        _of_segment(queries, segment, mask, k)
        for segment, mask in zip(snapshot.segments, masks, strict=True)
        if mask.any()
    ]
    none = Hits(np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32))
    indices, scores = (np.concatenate(parts, axis=1) for parts in zip(none, *found, strict=True))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Hits(np.take_along_axis(indices, order, 1), np.take_along_axis(scores, order, 1))


def _of_segment(
    queries: Float32[np.ndarray, "Q E"], segment: SegmentRows, mask: Bool[np.ndarray, " n"], k: int
) -> Hits:
    places = np.flatnonzero(mask)
    vectors = segment.vectors if len(places) == segment.rows else segment.vectors[places]
    hits = nearest(queries, vectors, k, _cosine_of_stored)
    return Hits(segment.first + places[hits.indices], hits.scores)


def _cosine_of_stored(queries: Float32[np.ndarray, "Q E"], rows: Shaped[np.ndarray, "n E"]) -> Float[np.ndarray, "Q n"]:
    """Rows have length 1 but for the rounding of their type."""
    return unit_cosine(queries, unit(rows))
