"""Two dimensions by t-SNE (van der Maaten and Hinton 2008), computed by scikit-learn [extra: map]."""

import numpy as np
from jaxtyping import Float
from sklearn.manifold import TSNE

from .principal_components import principal_components

WIDTH = 30
"""Principal components that t-SNE starts from, as its authors do."""
NEIGHBOURS = 30
"""The perplexity: about how many neighbours of each point count; fewer points have fewer."""
STEPS = 500
ANGLE = 0.7  # how coarsely far points are taken together; scikit-learn's 0.5 takes longer and looks the same
FEWEST = 8  # points; fewer are placed by their principal components


def neighbour_embedding(vectors: Float[np.ndarray, "N D"], seed: int) -> Float[np.ndarray, "N 2"]:
    """A place for each row; O(N log N), minutes for 20,000 rows."""
    reduced = principal_components(vectors, WIDTH)
    if len(reduced) < FEWEST or reduced.shape[1] < 2 or not reduced.any():
        return np.pad(reduced, ((0, 0), (0, 2)))[:, :2]
    perplexity = min(NEIGHBOURS, (len(reduced) - 1) / 3)
    start = reduced[:, :2] / (reduced[:, 0].std() or 1) * 1e-4  # scikit-learn's, without a random solver
    tsne = TSNE(
        init=start.astype(np.float32), perplexity=perplexity, max_iter=STEPS, angle=ANGLE, random_state=seed, n_jobs=1
    )
    return np.asarray(tsne.fit_transform(reduced), np.float64)
