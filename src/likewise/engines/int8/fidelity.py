"""How far the vectors of a quantized model are from those of the original: cosines, and the order of similarities."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...arrays.correlation import spearman
from ...arrays.similarity import PAIRWISE, unit, unit_cosine
from ...errors import BadInput

Array = np.ndarray


@dataclass(frozen=True)
class Bar:
    """The least fidelity with which a quantized model is kept, over all texts that it is measured on."""

    mean_cosine: float = 0.997
    least_cosine: float = 0.97

    def __post_init__(self) -> None:
        if not all(-1 <= value <= 1 for value in (self.mean_cosine, self.least_cosine)):
            raise BadInput(f"the bar is {self.mean_cosine}, {self.least_cosine}; expected two cosines, −1 to 1")


@dataclass(frozen=True)
class Fidelity:
    """Cosines between each text's vector before and after, and Spearman's correlation of all pairs' similarities."""

    texts: int
    mean_cosine: float
    least_cosine: float
    rank_correlation: float
    """NaN where all similarities are equal."""

    def reaches(self, bar: Bar) -> bool:
        """Whether both cosines are at least the bar's."""
        return self.mean_cosine >= bar.mean_cosine and self.least_cosine >= bar.least_cosine


def fidelity(before: Float[Array, "N E"], after: Float[Array, "N E"]) -> Fidelity:
    """The fidelity of vectors `after` to those `before`, of two texts or more."""
    cosines = PAIRWISE["cosine"](before, after)
    cosines[~(before.any(1) | after.any(1))] = 1  # no text's token was known, before and after
    return Fidelity(
        len(before), float(cosines.mean()), float(cosines.min()), spearman(_of_pairs(before), _of_pairs(after))
    )


def _of_pairs(vectors: Float[Array, "N E"]) -> Float[Array, " P"]:
    """The cosine of every two rows."""
    rows = unit(vectors)
    return np.asarray(unit_cosine(rows, rows)[np.triu_indices(len(rows), 1)])
