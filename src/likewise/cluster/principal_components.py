"""Principal component analysis: the directions in which vectors differ most."""

import numpy as np
from jaxtyping import Float

from ..runtime.arguments import whole_number


def principal_components(vectors: Float[np.ndarray, "N D"], width: int) -> Float[np.ndarray, "N d"]:
    """The vectors in their first `width` principal components (fewer if they have fewer), greatest variance first.

    The sign of a component is that of its greatest weight in absolute value, so that results are the same everywhere.
    """
    width = whole_number("width", width)
    centred = np.asarray(vectors, np.float64)
    centred = centred - centred.mean(axis=0) if len(centred) else centred
    variances, directions = np.linalg.eigh(centred.T @ centred)
    first = directions[:, np.argsort(-variances, kind="stable")[:width]]
    if first.size:
        first *= np.sign(first[np.abs(first).argmax(axis=0), np.arange(first.shape[1])])
    return np.asarray(centred @ first)
