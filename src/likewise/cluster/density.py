"""Clusters of high density by scikit-learn's HDBSCAN (Campello, Moulavi and Sander 2013) [extra: map]."""

import numpy as np
from jaxtyping import Float, Int
from sklearn.cluster import HDBSCAN

from .principal_components import principal_components

WIDTH = 10
"""Principal components that are kept: in more dimensions all distances are nearly equal, and all is noise."""


def dense_clusters(vectors: Float[np.ndarray, "N D"], min_size: int) -> Int[np.ndarray, " N"]:
    """The cluster of each row, −1 for noise; of rows of length 1, reduced to WIDTH numbers first."""
    if len(vectors) < 2 * min_size:  # two clusters at least are needed, and scikit-learn refuses fewer rows than one
        return np.full(len(vectors), -1)
    reduced = principal_components(vectors, WIDTH)
    return np.asarray(HDBSCAN(min_cluster_size=max(2, min_size), copy=True).fit_predict(reduced), np.int64)
