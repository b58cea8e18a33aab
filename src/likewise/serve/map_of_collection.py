"""The map of a collection as plain lists: each text's position and cluster, and the clusters' names."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from ..cluster import describe_clusters
from ..cluster.clusterings import DEFAULT_METHOD, cluster_vectors
from ..cluster.maps.cluster_map import NO_CLUSTER_COLOUR, ClusterMap, label_places
from ..cluster.maps.layout import map_layout
from ..search.collection import Collection
from .public_paths import public_id

SHOWN = 240
"""Number of characters of a text that a map shows."""
MOST_BY_DISTANCE = 5_000
"""Up to this many texts are clustered as in `likewise cluster`, with 200 MB of distances; more texts, with k-means."""
CLUSTERS = 12
"""The number of k-means clusters."""
Report = Callable[[float], None] | None


def collection_map(collection: Collection, layout: str, limit: int, report: Report = None) -> dict[str, Any]:
    """Return at most `limit` evenly spaced texts of a collection, with coordinates from 0 to 1 and cluster labels.

    `report` is called with the finished fraction of a t-SNE layout.
    """
    count = collection.count()
    step, rows = max(1, -(-count // limit)), []
    for number, block in enumerate(collection.records(1000)):
        stored = zip(block.ids, block.contents, block.vectors, strict=True)
        chosen = islice(stored, -(number * 1000) % step, None, step)
        rows += [(public_id(name, metadata), text or "", vector) for name, (text, metadata), vector in chosen]
    if not rows:
        empty: dict[str, Any] = {name: [] for name in ("ids", "texts", "x", "y", "labels", "clusters")}
        return {"total": 0, **empty, "other": NO_CLUSTER_COLOUR}
    ids, texts, vectors = zip(*rows, strict=True)
    return {"total": count, "ids": [*ids], **map_of_texts([*texts], np.stack(vectors), layout, report)}


def map_of_texts(texts: list[str], vectors: np.ndarray, layout: str, report: Report = None) -> dict[str, Any]:
    """Compute the map; as in `likewise cluster`, clustering counts equal texts once and ignores blank texts."""
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text.strip():
            first.setdefault(text, row)
    rows = np.array([*first.values()], np.int64)
    is_large = len(rows) > MOST_BY_DISTANCE
    method, k = ("kmeans", CLUSTERS) if is_large else (DEFAULT_METHOD, None)
    found = cluster_vectors(vectors[rows], method, k=k, show_progress_bar=False)
    summaries, of = describe_clusters([*first], vectors[rows], found), dict(zip(first, found.tolist(), strict=True))
    labels = np.array([of.get(text, -1) for text in texts])
    places = map_layout(vectors, layout, report=report)
    shown = ClusterMap("", places, labels, texts, [one.name for one in summaries])
    described = zip(summaries, shown.colours, label_places(shown).round(5).tolist(), strict=True)
    return {
        "texts": [text[:SHOWN] for text in texts],
        "x": places[:, 0].round(5).tolist(),
        "y": places[:, 1].round(5).tolist(),
        "labels": labels.tolist(),
        "other": NO_CLUSTER_COLOUR,
        "clusters": [
            {
                "name": one.name,
                "words": list(one.words),
                "size": one.size,
                "cosine": one.cosine,
                "colour": colour,
                "place": place,
                "central": rows[list(one.central)].tolist(),
            }
            for one, colour, place in described
        ],
    }
