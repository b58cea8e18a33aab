"""VectorMap: converts one model's vectors to approximate vectors of another; saved as a single safetensors file."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ..array_types import Float, Shaped
from ..arrays.similarity import check_finite_rows, number_table, unit
from ..errors import BadInput
from ..evaluate.statistics.significance import Interval
from ..runtime.atomic_files import atomic_file, naming_full_disk
from ..search.index import ModelIdentity

FORMAT = "likewise-map-1"
ENTRY = "likewise"
"""The key of the JSON in the file header."""


@dataclass(frozen=True, eq=False)
class VectorMap:
    """A linear map between the directions of two models' vectors: centre, multiply, shift to the other centre."""

    source: ModelIdentity
    """The model of the input vectors."""
    target: ModelIdentity
    """The model whose vectors are approximated."""
    method: str
    """How the map was fitted: `"procrustes"`, or `"ridge"` with its strength."""
    matrix: Float[np.ndarray, "D E"]
    source_mean: Float[np.ndarray, " D"]
    target_mean: Float[np.ndarray, " E"]
    recall: Interval
    """The fraction of the target model's 10 nearest neighbours that mapped queries find, on held-out texts."""
    measured_on: int
    """The number of held-out texts on which recall was measured; in a larger collection, recall is lower."""

    def __call__(self, vectors: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "N E"]:
        """Map vectors to unit-length float32 vectors of the target model's dimension."""
        vectors = number_table(vectors, "vectors")
        if vectors.ndim != 2 or vectors.shape[1] != len(self.matrix):
            raise BadInput(
                f"expected vectors of shape (N, {len(self.matrix)}), from {self.source.name}; got {vectors.shape}"
            )
        check_finite_rows(vectors, "vectors")
        mapped = (unit(vectors) - self.source_mean) @ self.matrix + self.target_mean
        return unit(mapped.astype(np.float32, copy=False))

    def save(self, path: Path) -> None:
        arrays = {"matrix": self.matrix, "source_mean": self.source_mean, "target_mean": self.target_mean}
        models = {"source": self.source.as_json(), "target": self.target.as_json()}
        recall = [self.recall.value, self.recall.low, self.recall.high]
        about = {"format": FORMAT, **models, "method": self.method, "recall": recall, "measured_on": self.measured_on}
        stored = {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}
        with atomic_file(path) as partial, naming_full_disk(path):
            save_file(stored, partial, {ENTRY: json.dumps(about)})

    @classmethod
    def load(cls, path: Path) -> "VectorMap":
        """Load a map written by `save`."""
        if not path.is_file():
            raise BadInput(f"{path} does not exist; expected a vector map written by VectorMap.save")
        try:
            with safe_open(path, "numpy") as file:
                about = json.loads((file.metadata() or {}).get(ENTRY, "null"))
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, not a dict
            return _read(about, arrays)
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path} is not a map between two models' vectors, or is damaged: {error!r}") from None


def _read(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> VectorMap:
    if about["format"] != FORMAT:
        raise ValueError(f"its format is {about['format']!r}; expected {FORMAT!r}")
    matrix, before, after = (arrays[name] for name in ("matrix", "source_mean", "target_mean"))
    if matrix.ndim != 2 or matrix.shape != (*before.shape, *after.shape):
        raise ValueError(f"its arrays have shapes {matrix.shape}, {before.shape} and {after.shape}")
    if not all(np.isfinite(array).all() for array in (matrix, before, after)):
        raise ValueError("it contains NaN or infinity")
    source, target = (ModelIdentity.from_json(about[side]) for side in ("source", "target"))
    recall = Interval(*map(float, about["recall"]))
    return VectorMap(source, target, str(about["method"]), matrix, before, after, recall, int(about["measured_on"]))
