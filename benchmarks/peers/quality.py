"""The quality of vectors: cosines with the reference vectors, and rank correlation with human scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from likewise.arrays.correlation import spearman
from likewise.arrays.similarity import unit

from .texts import Pairs

Vectors = Mapping[str, np.ndarray]
COMPARED = ("odd", "stsb")
"""The corpora whose vectors are compared with the reference vectors."""


def cosines(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return the cosine of each pair of rows."""
    return np.einsum("nd,nd->n", unit(ours.astype(np.float64)), unit(theirs.astype(np.float64)))


def correlations(vectors: Vectors, pairs: Mapping[str, Pairs]) -> dict[str, float]:
    """Return Spearman's correlation × 100 of cosines with human scores, by data set."""
    return {
        name: 100 * spearman(cosines(rows[some.first], rows[some.second]), np.asarray(some.scores, np.float64))
        for name, some in pairs.items()
        if (rows := vectors.get(name)) is not None
    }


def agreement(vectors: Vectors, reference: Vectors) -> dict[str, Any]:
    """Return the lowest and mean cosine with the reference, over odd texts, over STS-B sentences, and over both."""
    found = {name: cosines(vectors[name], reference[name]) for name in COMPARED if name in reference}
    if set(found) != {*COMPARED}:
        return {}
    parts = {"odd": found["odd"], "sentences": found["stsb"], "all": np.concatenate([*found.values()])}
    cells = {name: {"least": float(part.min()), "mean": float(part.mean())} for name, part in parts.items()}
    largest = max(float(np.abs(vectors[name] - reference[name]).max()) for name in found)
    return {"cosine": cells, "largest_difference": largest}
