"""Anytime-valid tests and intervals by betting: you may look after every item and stop whenever you like.

    capital(m) = mean over g of Π (1 − g + g · y / m)

A gambler who believes that the mean of the y ≥ 0 is above m keeps the share 1 − g of the capital at every item and bets
g on y / m. If the mean is m or less, the capital is a nonnegative supermartingale: the probability that it ever reaches
1 / alpha is at most alpha (Ville). All means whose capital stayed below 1 / alpha form a confidence sequence. This is
the diversified Kelly bet of Waudby-Smith and Ramdas (2023, "Estimating means of bounded random variables by betting"),
with fixed shares g: the capital falls as m grows, so a test that rejects m also rejects every smaller mean, and the
order of the items does not matter.
"""

import numpy as np

from ...array_types import Bool, Float
from .significance import Interval

BETS = np.geomspace(0.02, 0.95, 8)
"""The shares g: the best is about difference / variance, and with its neighbours the capital grows nearly as fast."""
_STEPS = 50  # of bisection, enough for the precision of fp64


def log_capital(values: Float[np.ndarray, " n"], mean: float) -> float:
    """The log capital of betting against the hypothesis that the mean of these values (≥ 0) is at most `mean` (> 0)."""
    return float(_mixed(np.log1p(BETS * (values[:, None] / mean - 1)).sum(0)))


def confidence_sequence(values: Float[np.ndarray, " n"], low: float, high: float, alpha: float = 0.05) -> Interval:
    """The mean of values between `low` and `high`, with an interval that is valid at every n simultaneously."""
    below, above = (_lower_bound(side, np.log(2 / alpha)) for side in (values - low, high - values))
    return Interval(float(values.mean()), low + below, high - above)


def _lower_bound(values: Float[np.ndarray, " n"], threshold: float) -> float:
    """The largest mean whose log capital reaches the threshold; at the sample mean, log capital is never above 0."""
    least, most = 0.0, float(values.mean())
    for _ in range(_STEPS):
        middle = (least + most) / 2
        least, most = (middle, most) if middle > 0 and log_capital(values, middle) >= threshold else (least, middle)
    return least


def _mixed(logs: Float[np.ndarray, "... G"]) -> Float[np.ndarray, "..."]:
    """The logarithm of the mean capital over all bets."""
    most = logs.max(-1)
    return np.asarray(most + np.log(np.exp(logs - most[..., None]).mean(-1)))


class PairedBets:
    """Evidence about which of K candidates is better, from their scores (0 … 1) on the same items.

    Let b be the best candidate, whichever it is. For any other candidate a, each of the statements "a is better than b"
    and "b is not better than a by the margin" can be false only if the capital against the true difference between a
    and b reaches (K − 1) / alpha, which is a single event. So over all a, the probability of any false statement about
    b is at most alpha, however long you look.
    """

    def __init__(self, count: int, margin: float, alpha: float) -> None:
        self.margin = margin  # the difference that does not matter
        self.threshold = float(np.log(max(1, count - 1) / alpha))  # the log capital at which a statement is made
        self._logs = np.zeros((2, count, count, len(BETS)))
        self._highest = np.zeros((2, count, count))

    def update(self, candidates: Bool[np.ndarray, " K"], scores: Float[np.ndarray, "k n"]) -> None:
        """Add the scores of k candidates on n more items; the evidence about the other candidates does not change."""
        rows = np.flatnonzero(candidates)
        for i, row in enumerate(rows):
            gains = (scores[i] - scores)[..., None]  # (k, n, 1): the gains of this candidate over each of the k
            for null, mean in enumerate((1.0, 1.0 - self.margin)):  # differences + 1, which are never below 0
                self._logs[null, row, rows] += np.log1p(BETS * ((1 + gains) / mean - 1)).sum(1)
        at = np.ix_(np.arange(2), rows, rows)
        self._highest[at] = np.maximum(self._highest[at], _mixed(self._logs[at]))

    @property
    def better(self) -> Bool[np.ndarray, "K K"]:
        """Whether a (row) is better than b (column)."""
        return np.asarray(self._highest[0] >= self.threshold)

    @property
    def close(self) -> Bool[np.ndarray, "K K"]:
        """Whether b (column) is not better than a (row) by the margin or more."""
        return np.asarray(self._highest[1] >= self.threshold)
