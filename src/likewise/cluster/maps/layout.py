"""A position on the map for every vector, chosen so that neighbours stay neighbours."""

import io
import re
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout

import numpy as np

from ...array_types import Float
from ...arrays.similarity import unit
from ...runtime.arguments import known_name, whole_number
from ...runtime.installation import missing_extra
from ...search.pairs import checked_vectors

LAYOUTS = ("pca", "t-sne")
"""pca: instant, but shows only the coarsest structure. t-sne: shows clusters, but needs scikit-learn."""
WIDTH = 30
"""The principal components that t-SNE starts from, as recommended by its authors."""
NEIGHBOURS = 30
"""The perplexity: roughly how many neighbours of each point matter; lower if there are few points."""
STEPS = 500
ANGLE = 0.7  # how coarsely distant points are grouped; scikit-learn's 0.5 takes longer and looks the same
ITERATION = re.compile(r"Iteration (\d+)")
"""What scikit-learn prints every 50 steps; its class has no callback."""
FEWEST = 8  # minimum number of points for t-SNE; fewer are placed by their principal components


def map_layout(
    vectors: Float[np.ndarray, "N D"], layout: str, *, seed: int = 0, report: Callable[[float], None] | None = None
) -> Float[np.ndarray, "N 2"]:
    """Two coordinates for each row, from 0 to 1 on the same scale; rows are compared by cosine.

    `report` is called with the fraction of t-SNE's steps that are finished, from 0 to 1.
    """
    rows = unit(checked_vectors(vectors))
    is_linear = known_name("layout", layout, LAYOUTS) == "pca"
    return to_unit_square(principal_components(rows, 2) if is_linear else tsne_layout(rows, seed, report))


def to_unit_square(places: Float[np.ndarray, "N d"]) -> Float[np.ndarray, "N 2"]:
    """Shift and scale the positions, both axes equally, so that they just fit between 0 and 1."""
    result = np.zeros((len(places), 2))
    result[:, : places.shape[1]] = places
    if not len(result):
        return result
    low, high = result.min(axis=0), result.max(axis=0)
    return np.asarray((result - (low + high) / 2) / (max(high - low) or 1) + 0.5)


def principal_components(vectors: Float[np.ndarray, "N D"], width: int) -> Float[np.ndarray, "N d"]:
    """Project the vectors onto their first `width` principal components, or all if fewer, largest variance first.

    Each component's weight with the largest absolute value is made positive, so that results are the same everywhere.
    """
    width = whole_number("width", width)
    centred = np.asarray(vectors, np.float64)
    centred = centred - centred.mean(axis=0) if len(centred) else centred
    variances, directions = np.linalg.eigh(centred.T @ centred)
    first = directions[:, np.argsort(-variances, kind="stable")[:width]]
    if first.size:
        first *= np.sign(first[np.abs(first).argmax(axis=0), np.arange(first.shape[1])])
    return np.asarray(centred @ first)


def tsne_layout(
    vectors: Float[np.ndarray, "N D"], seed: int, report: Callable[[float], None] | None = None
) -> Float[np.ndarray, "N 2"]:
    """A position for each row by t-SNE (van der Maaten and Hinton 2008); O(N log N), minutes for 20,000 rows."""
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise missing_extra("scikit-learn", "map", "a map by t-sne") from None
    reduced = principal_components(vectors, WIDTH)
    if len(reduced) < FEWEST or reduced.shape[1] < 2 or not reduced[:, 0].std():
        return np.pad(reduced, ((0, 0), (0, 2)))[:, :2]
    perplexity = min(NEIGHBOURS, (len(reduced) - 1) / 3)
    start = reduced[:, :2] / reduced[:, 0].std() * 1e-4  # as in scikit-learn, but without a random solver
    tsne = TSNE(
        init=start.astype(np.float32),
        perplexity=perplexity,
        max_iter=STEPS,
        angle=ANGLE,
        random_state=seed,
        n_jobs=1,
        verbose=2 if report else 0,
    )
    with redirect_stdout(_PrintedSteps(report)) if report else nullcontext():
        return np.asarray(tsne.fit_transform(reduced), np.float64)


class _PrintedSteps(io.TextIOBase):
    """A replacement for standard output that reports t-SNE's progress instead of printing it."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self._report = report

    def write(self, text: str) -> int:
        for step in ITERATION.findall(text):
            self._report(min(1.0, int(step) / STEPS))
        return len(text)
