"""Estimate from labelled pairs the fraction of positive pairs at a cosine, and the best threshold with its interval.

The fraction is an isotonic regression: the best nondecreasing fit, by pooling adjacent violators (Ayer et al. 1955).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..array_types import Float, Shaped
from ..arrays.correlation import Numbers
from ..errors import BadInput
from ..evaluate.metrics.binary_classification import ThresholdDecision, best_accuracy, best_f1
from ..evaluate.statistics.significance import Interval, percentiles
from ..runtime.arguments import known_name, whole_number

RESAMPLES = 1000
Criterion = Callable[[Numbers, Shaped[np.ndarray, " N"]], ThresholdDecision]
CRITERIA: dict[str, Criterion] = {"f1": best_f1, "accuracy": best_accuracy}
"""The criteria that a threshold can maximize."""


@dataclass(frozen=True, eq=False)
class IsotonicFit:
    """A nondecreasing curve: linear between its knots, constant before the first and after the last."""

    x: Float[np.ndarray, " K"]
    y: Float[np.ndarray, " K"]

    def __call__(self, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        return np.asarray(np.interp(np.asarray(x, np.float64), self.x, self.y))


@dataclass(frozen=True, eq=False)
class LabelledFit:
    """What N labelled pairs say about cosines; valid where positives are as frequent as among these pairs."""

    score: IsotonicFit
    """Maps a cosine to the fraction of positive pairs, 0 to 1."""
    threshold: Interval
    """The best cosine threshold for calling a pair positive, with a 95 % bootstrap interval: positive and negative
    pairs are resampled separately, because a threshold needs both."""
    criterion: str
    """What the threshold maximizes: `"f1"` or `"accuracy"`."""
    value: float
    """F1 or accuracy at the threshold, on the same pairs that it was chosen on."""
    pairs: int
    positives: int


def fit_labelled_pairs(
    cosines: Float[np.ndarray, " N"],
    labels: Shaped[np.ndarray, " N"],
    *,
    criterion: str = "f1",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> LabelledFit:
    """Fit the score and choose the threshold.

    Raises:
        BadInput: the labels do not include both 0 and 1, there are not as many labels as cosines, or `resamples` is
            below 1.
    """
    resamples = whole_number("resamples", resamples)
    best = CRITERIA[known_name("criterion", criterion, CRITERIA)]
    cosines, labels = np.asarray(cosines, np.float64), np.asarray(labels)
    if set(np.unique(labels).tolist()) != {0, 1}:
        raise BadInput(f"labels are {np.unique(labels).tolist()[:5]}; expected both 0 and 1")
    decision = best(cosines, labels)
    random = np.random.default_rng(seed)
    classes = [np.flatnonzero(labels == label) for label in (0, 1)]
    drawn = (np.concatenate([random.choice(rows, len(rows)) for rows in classes]) for _ in range(resamples))
    threshold = percentiles(decision.threshold, np.array([best(cosines[r], labels[r]).threshold for r in drawn]))
    score = isotonic_fit(cosines, labels.astype(np.float64))
    return LabelledFit(score, threshold, criterion, decision.value, len(labels), int(labels.sum()))


def isotonic_fit(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> IsotonicFit:
    """The nondecreasing curve with the smallest sum of squared errors at these points."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.ndim != 1 or x.shape != y.shape or not len(x) or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise BadInput(f"expected equal numbers of finite x and y, at least one; got shapes {x.shape} and {y.shape}")
    distinct, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    level, size = _pooled(np.bincount(place, weights=y) / counts, counts)
    last = np.cumsum(size) - 1
    first = last - size + 1
    ends = np.stack([first, last], 1).ravel()
    knots = np.concatenate([[True], ends[1:] != ends[:-1]])  # a block with one point has one knot
    return IsotonicFit(distinct[ends][knots], np.repeat(level, 2)[knots])


def _pooled(means: Float[np.ndarray, " n"], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge neighbouring blocks until their means ascend; return the mean and size of each block."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, points
    for mean, weight in zip(means.tolist(), weights.tolist(), strict=True):
        block = (mean, float(weight), 1)
        while blocks and blocks[-1][0] >= block[0]:
            before = blocks.pop()
            total = before[1] + block[1]
            block = ((before[0] * before[1] + block[0] * block[1]) / total, total, before[2] + block[2])
        blocks.append(block)
    return np.array([block[0] for block in blocks]), np.array([block[2] for block in blocks])
