"""A place on the map for every vector, so that neighbours stay neighbours."""

import numpy as np
from jaxtyping import Float

from ...arrays.similarity import unit
from ...runtime.arguments import known_name
from ...runtime.installation import missing_extra
from ...search.pairs import checked_vectors
from ..tsne import principal_components

LAYOUTS = ("pca", "t-sne")
"""Two principal components: instant, and only the coarsest shape. t-SNE: clusters are seen; needs scikit-learn."""


def map_layout(vectors: Float[np.ndarray, "N D"], layout: str, *, seed: int = 0) -> Float[np.ndarray, "N 2"]:
    """Two numbers for each row, both from 0 to 1, in one scale; compared by cosine.

    Raises:
        BadInput: the layout is unknown, or the vectors are no table of finite numbers.
        MissingExtra: scikit-learn is needed for t-sne.
    """
    rows = unit(checked_vectors(vectors))
    if known_name("layout", layout, LAYOUTS) == "pca":
        return to_unit_square(principal_components(rows, 2))
    try:
        from ..tsne import neighbour_embedding
    except ImportError:
        raise missing_extra("scikit-learn", "map", "a map by t-sne") from None
    return to_unit_square(neighbour_embedding(rows, seed))


def to_unit_square(places: Float[np.ndarray, "N d"]) -> Float[np.ndarray, "N 2"]:
    """Places moved and scaled, both axes alike, so that they just fit between 0 and 1."""
    result = np.zeros((len(places), 2))
    result[:, : places.shape[1]] = places
    if not len(result):
        return result
    low, high = result.min(axis=0), result.max(axis=0)
    return np.asarray((result - (low + high) / 2) / (max(high - low) or 1) + 0.5)
