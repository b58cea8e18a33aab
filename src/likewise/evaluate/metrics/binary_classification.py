"""Metrics for binary decisions: each pair has a score and a true label (1 or 0).

A pair is predicted positive if its score reaches a threshold, so pairs with equal scores always get the same decision.
"""

from typing import NamedTuple

import numpy as np

from ...array_types import Bool, Float, Shaped
from ...arrays.correlation import Numbers, ranks
from ...errors import BadInput

Truth = Shaped[np.ndarray, " N"]  # 1 or 0, or booleans


class ThresholdDecision(NamedTuple):
    """The best rule of the form "positive if the score reaches this threshold", and its value, precision and recall."""

    value: float
    threshold: float
    precision: float
    recall: float


def average_precision(scores: Numbers, gold: Truth, *, positives: int | None = None) -> float:
    """Precision at each distinct score, weighted by the recall it adds; NaN if there are no positives.

    Ties are handled as in scikit-learn. `positives` is the total number of positives; any that are not among the pairs
    count as missed.
    """
    selected, correct, total = _selections(scores, gold, positives)
    if not total:
        return float("nan")
    return float((np.diff(correct) * correct[1:] / selected[1:]).sum() / total)


def best_f1(scores: Numbers, gold: Truth, *, positives: int | None = None) -> ThresholdDecision:
    """The highest F1, 2TP / (predicted + actual positives), at the highest threshold that attains it.

    It is 0 if there are no positives.
    """
    selected, correct, total = _selections(scores, gold, positives)
    denominator = selected + total
    values = np.divide(2 * correct, denominator, out=np.zeros(len(denominator)), where=denominator > 0)
    return _decision(scores, selected, correct, total, values)


def best_accuracy(scores: Numbers, gold: Truth) -> ThresholdDecision:
    """The highest accuracy, at the highest threshold that reaches it; that threshold may reject every pair."""
    selected, correct, total = _selections(scores, gold, None)
    wrong = (selected - correct) + (total - correct)
    return _decision(scores, selected, correct, total, 1 - wrong / selected[-1])


def auc(scores: Numbers, gold: Truth) -> float:
    """The probability that a positive scores above a negative, counting ties as half; NaN unless both occur."""
    scores, positive = _checked_pairs(scores, gold)
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if not positives or not negatives:
        return float("nan")
    return float((ranks(scores)[positive].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def binary_decisions(scores: Numbers, gold: Truth, threshold: float) -> tuple[float, Float[np.ndarray, " N"]]:
    """The F1 of the rule "positive from `threshold` on", and whether the rule is right for each pair (1 or 0)."""
    scores, positive = _checked_pairs(scores, gold)
    predicted = scores >= threshold
    total = int(predicted.sum() + positive.sum())
    return 2 * int((predicted & positive).sum()) / total if total else 0.0, (predicted == positive).astype(float)


def _selections(scores: Numbers, gold: Truth, positives: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """For each threshold, the number of pairs selected and of positives among them; and the total number of positives.

    The first threshold selects no pairs.
    """
    scores, positive = _checked_pairs(scores, gold)
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    last = np.append(np.flatnonzero(descending[1:] != descending[:-1]), len(scores) - 1)
    selected = np.append(0, last + 1)
    correct = np.append(0, np.cumsum(positive[order])[last])
    return selected, correct, int(correct[-1]) if positives is None else positives


def _decision(
    scores: Numbers, selected: np.ndarray, correct: np.ndarray, total: int, values: np.ndarray
) -> ThresholdDecision:
    best = int(values.argmax())
    shares = [float(correct[best] / count) if count else 0.0 for count in (selected[best], total)]
    return ThresholdDecision(float(values[best]), _threshold(scores, int(selected[best])), *shares)


def _threshold(scores: Numbers, selected: int) -> float:
    """Midway between the last selected score and the next; if all are selected, the lowest; if none, above all."""
    descending = -np.sort(-np.asarray(scores, np.float64))
    if selected == 0:
        return float(np.nextafter(descending[0], np.inf))
    if selected == len(descending):
        return float(descending[-1])
    above, below = descending[selected - 1], descending[selected]
    middle = below + (above - below) / 2
    return float(middle if middle > below else above)  # there is nothing between adjacent floats


def _checked_pairs(scores: Numbers, gold: Truth) -> tuple[Numbers, Bool[np.ndarray, " N"]]:
    """Scores in fp64 and labels as booleans, after checking that lengths match and all scores are finite."""
    scores, gold = np.asarray(scores, np.float64), np.asarray(gold)
    if scores.ndim != 1 or scores.shape != gold.shape or not len(scores):
        raise BadInput(
            f"expected as many scores as gold labels, at least one; got shapes {scores.shape} and {gold.shape}"
        )
    if len(bad := np.flatnonzero(~np.isfinite(scores))):
        raise BadInput(f"expected finite scores; score number {bad[0]} is NaN or infinite")
    if not np.isin(gold, (0, 1)).all():
        raise BadInput("expected a gold label of 0 or 1 for every pair")
    return scores, gold.astype(bool)
