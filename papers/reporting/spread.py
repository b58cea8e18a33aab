"""The spread of a score over seeds: mean, standard deviation, and Student's t interval of the mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.array_types import Float
from likewise.errors import BadInput
from likewise.evaluate.statistics.hypothesis_tests import two_sided


@dataclass(frozen=True)
class Spread:
    """The mean over seeds, the standard deviation, and the t interval of the mean."""

    mean: float
    sd: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{100 * self.mean:.2f} ± {100 * self.sd:.2f} ({self.count} seeds)"


def over_seeds(values: Sequence[float] | Float[np.ndarray, " n"], level: float = 0.95) -> Spread:
    """A score measured with several seeds: mean, standard deviation (n − 1), and Student's t interval of the mean."""
    scores: Float[np.ndarray, " n"] = np.asarray(values, np.float64)
    if scores.ndim != 1 or len(scores) < 2 or not np.isfinite(scores).all():
        raise BadInput(f"a spread over seeds needs at least two finite numbers; got {scores.tolist()}")
    mean, sd = float(scores.mean()), float(scores.std(ddof=1))
    half = quantile(level, len(scores) - 1) * sd / math.sqrt(len(scores))
    return Spread(mean, sd, mean - half, mean + half, len(scores))


def quantile(level: float, degrees: float) -> float:
    """The value that |t| stays below with probability `level`, found by bisection."""
    low, high = 0.0, 1.0
    while two_sided(high, degrees) > 1 - level:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, degrees) > 1 - level else (low, middle)
    return high
