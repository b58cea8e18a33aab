"""The quality of vectors: cosines with the reference's, and rank correlation with human scores."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.arrays.correlation import spearman

from .texts import Pairs

Vectors = Mapping[str, np.ndarray]
COMPARED = ("odd", "stsb")
"""The corpora whose vectors are compared with the reference's."""


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def cosines(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """The cosine of each pair of rows."""
    return np.einsum("nd,nd->n", unit(ours.astype(np.float64)), unit(theirs.astype(np.float64)))


def correlations(vectors: Vectors, pairs: Mapping[str, Pairs]) -> dict[str, float]:
    """Spearman's correlation × 100 of cosines with human scores, by data set."""
    return {
        name: 100 * spearman(cosines(rows[some.first], rows[some.second]), np.asarray(some.scores, np.float64))
        for name, some in pairs.items()
        if (rows := vectors.get(name)) is not None
    }


def agreement(vectors: Vectors, reference: Vectors) -> dict[str, Any]:
    """The lowest and mean cosine with the reference, over odd texts, STS-B sentences and both."""
    found = {name: cosines(vectors[name], reference[name]) for name in COMPARED if name in reference}
    if set(found) != {*COMPARED}:
        return {}
    parts = {"odd": found["odd"], "sentences": found["stsb"], "all": np.concatenate([*found.values()])}
    cells = {name: {"least": float(part.min()), "mean": float(part.mean())} for name, part in parts.items()}
    largest = max(float(np.abs(vectors[name] - reference[name]).max()) for name in found)
    return {"cosine": cells, "largest_difference": largest}


class KeptReference:
    """Cached vectors of the reference by text, for runs without the reference."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def keep(self, texts: Mapping[str, Sequence[str]], vectors: Vectors) -> None:
        """Write the vectors."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for corpus, rows in vectors.items():
            np.save(self._path(texts[corpus]), rows)

    def read(self, texts: Mapping[str, Sequence[str]]) -> dict[str, np.ndarray]:
        """The cached vectors of these texts."""
        paths = {corpus: self._path(texts[corpus]) for corpus in COMPARED}
        return {corpus: np.load(path) for corpus, path in paths.items() if path.exists()}

    def _path(self, texts: Sequence[str]) -> Path:
        digest = hashlib.sha256("\0".join([self.name, *texts]).encode()).hexdigest()
        return self.folder / f"{digest[:16]}.npy"
