"""Clusters of high density by scikit-learn's HDBSCAN (Campello, Moulavi and Sander 2013) [extra: map].

In hundreds of dimensions all distances are nearly equal and nearly all is noise, so vectors are reduced first: to two
dimensions by t-SNE, since principal components keep too little (benchmarks/clustering.py compares).
"""

import numpy as np
from jaxtyping import Float, Int
from sklearn.cluster import HDBSCAN

from .tsne import neighbour_embedding


def hdbscan_clusters(vectors: Float[np.ndarray, "N D"], min_size: int, seed: int) -> Int[np.ndarray, " N"]:
    """The cluster of each row, −1 for noise; `min_size` is at least 2."""
    least = max(2, min_size)
    if len(vectors) < 2 * least:  # HDBSCAN splits all into clusters, so it needs room for two
        return np.full(len(vectors), -1)
    return np.asarray(HDBSCAN(min_cluster_size=least, copy=True).fit_predict(neighbour_embedding(vectors, seed)), int)
