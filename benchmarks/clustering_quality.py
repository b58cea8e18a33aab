"""Which clustering method recovers the articles that sentences come from? Tests all methods, and HDBSCAN after PCA.

The sentences come from the first Wikipedia articles in wiki_sections; scores are V-measure and adjusted Rand index
against the article. Methods that need k get the true number of articles; the others use their defaults.
"""

from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sklearn.cluster import HDBSCAN

from likewise import Embedder
from likewise.arrays.similarity import unit
from likewise.cluster import CLUSTERINGS, cluster_vectors
from likewise.cluster.maps.layout import principal_components
from likewise.evaluate.tasks.clustering import cluster_agreement

from .options import options
from .record import data, save

WIDTHS = (5, 10, 20)  # principal components before HDBSCAN


def labelled(count: int) -> tuple[list[str], np.ndarray]:
    """Distinct sentences and their articles, in the order of the file."""
    columns = pq.read_table(data("wiki_sections", "sentences.parquet")).to_pydict()
    article = dict(zip(columns["text"], columns["article"], strict=True))
    return list(article)[:count], np.unique(list(article.values())[:count], return_inverse=True)[1]


def row(labels: np.ndarray, articles: np.ndarray) -> dict[str, Any]:
    scores = cluster_agreement(labels, articles)
    in_none = int((labels < 0).sum())
    return {"clusters": int(labels.max()) + 1, "in none": in_none, "V-measure": scores[0], "adjusted Rand": scores[3]}


def main() -> None:
    args = options(__doc__, model="likewise-mini", count=3000)
    texts, articles = labelled(args.count)
    vectors = unit(Embedder.load(args.model).encode(texts, show_progress_bar=False))
    found, k = {}, int(articles.max()) + 1
    for name, method in CLUSTERINGS.items():
        found[name] = row(cluster_vectors(vectors, name), articles) if "k" not in method.by or method.threshold else {}
        if "k" in method.by:
            found[f"{name}, k = {k}"] = row(cluster_vectors(vectors, name, k=k), articles)
    for width in WIDTHS:
        clusterer = HDBSCAN(min_cluster_size=CLUSTERINGS["hdbscan"].min_size, copy=True)
        labels = clusterer.fit_predict(principal_components(vectors, width))
        found[f"hdbscan after {width} principal components"] = row(labels, articles)
    found = {name: scores for name, scores in found.items() if scores}
    for name, scores in found.items():
        print(name, scores)
    save("clustering_quality", {"model": args.model, "sentences": len(texts), "articles": k, "methods": found})


if __name__ == "__main__":
    main()
