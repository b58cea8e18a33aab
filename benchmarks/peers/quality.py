"""How good the vectors are: cosines with the reference's, and rank correlation with people's scores."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.arrays.correlation import spearman

Vectors = Mapping[str, np.ndarray]
SENTENCES = ("stsb/1", "stsb/2")


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def cosines(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Row by row."""
    return np.einsum("nd,nd->n", unit(ours.astype(np.float64)), unit(theirs.astype(np.float64)))


def correlations(vectors: Vectors, scores: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Spearman × 100 of cosines with people's scores, by data set."""
    pairs = {name: (vectors.get(f"{name}/1"), vectors.get(f"{name}/2")) for name in scores}
    return {
        name: 100 * spearman(cosines(first, second), np.asarray(scores[name]))
        for name, (first, second) in pairs.items()
        if first is not None and second is not None
    }


def agreement(vectors: Vectors, reference: Vectors) -> dict[str, Any]:
    """Least and mean cosine with the reference, over odd texts and STS-B sentences together and apart."""
    found = {name: cosines(vectors[name], reference[name]) for name in ("odd", *SENTENCES) if name in reference}
    if set(found) != {"odd", *SENTENCES}:
        return {}
    sentences = np.concatenate([found[name] for name in SENTENCES])
    parts = {"odd": found["odd"], "sentences": sentences, "all": np.concatenate([found["odd"], sentences])}
    cells = {name: {"least": float(part.min()), "mean": float(part.mean())} for name, part in parts.items()}
    largest = max(float(np.abs(vectors[name] - reference[name]).max()) for name in found)
    return {"cosine": cells, "largest_difference": largest}


class KeptReference:
    """The reference's vectors, kept in the cache by their texts: for runs that leave the reference out."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def keep(self, texts: Mapping[str, Sequence[str]], vectors: Vectors) -> None:
        """Writes them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for corpus, rows in vectors.items():
            np.save(self._path(texts[corpus]), rows)

    def read(self, texts: Mapping[str, Sequence[str]]) -> dict[str, np.ndarray]:
        """Those of these texts that are kept."""
        paths = {corpus: self._path(texts[corpus]) for corpus in ("odd", *SENTENCES)}
        return {corpus: np.load(path) for corpus, path in paths.items() if path.exists()}

    def _path(self, texts: Sequence[str]) -> Path:
        digest = hashlib.sha256("\0".join([self.name, *texts]).encode()).hexdigest()
        return self.folder / f"{digest[:16]}.npy"
