"""From labelled pairs: the share of positive pairs at a cosine, and the best threshold with its interval."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped

from ..arrays.correlation import Numbers
from ..errors import BadInput
from ..evaluate.metrics.binary_classification import ThresholdDecision, best_accuracy, best_f1
from ..evaluate.statistics.significance import BootstrapSettings, Interval
from ..runtime.arguments import known_name
from .isotonic import IsotonicFit, isotonic_fit

RESAMPLES = 1000
CRITERIA: dict[str, Callable[[Numbers, Shaped[np.ndarray, " N"]], ThresholdDecision]] = {
    "f1": best_f1,
    "accuracy": best_accuracy,
}
"""What the threshold is best for, by name."""


@dataclass(frozen=True, eq=False)
class LabelledFit:
    """What N labelled pairs say of cosines; it holds where positives are as frequent as among these pairs."""

    score: IsotonicFit
    """From a cosine to the share of positive pairs, 0 to 1."""
    threshold: Interval
    """The cosine from which on calling a pair positive is best, with a 95 % bootstrap interval over pairs."""
    criterion: str
    """What it is best for: `"f1"` or `"accuracy"`."""
    value: float
    """F1 or accuracy at the threshold, on the pairs it was chosen on."""
    pairs: int
    positives: int


def fit_labelled_pairs(
    cosines: Float[np.ndarray, " N"],
    labels: Shaped[np.ndarray, " N"],
    *,
    criterion: str = "f1",
    bootstrap: BootstrapSettings | None = None,
) -> LabelledFit:
    """Fit the score, and choose the threshold.

    Raises:
        BadInput: labels are not 0 and 1, both of them, or there are not as many as cosines.
    """
    best = CRITERIA[known_name("criterion", criterion, CRITERIA)]
    bootstrap = bootstrap or BootstrapSettings(resamples=RESAMPLES)
    cosines, labels = np.asarray(cosines, np.float64), np.asarray(labels)
    if set(np.unique(labels).tolist()) != {0, 1}:
        raise BadInput(f"labels are {np.unique(labels).tolist()[:5]}; expected 0 and 1, both of them")
    decision = best(cosines, labels)
    random = np.random.default_rng(bootstrap.seed)
    drawn = (random.integers(len(labels), size=len(labels)) for _ in range(bootstrap.resamples))
    thresholds = [best(cosines[rows], labels[rows]).threshold for rows in drawn]
    tail = 50 * (1 - bootstrap.level)
    low, high = np.percentile(thresholds, [tail, 100 - tail])
    return LabelledFit(
        isotonic_fit(cosines, labels.astype(np.float64)),
        Interval(decision.threshold, float(low), float(high)),
        criterion,
        decision.value,
        len(labels),
        int(labels.sum()),
    )
