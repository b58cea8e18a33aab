"""How sure a correlation is: bootstrap intervals, of one and of the difference of two on the same pairs.

Efron 1979, percentile method. Pairs are drawn anew with replacement; a resample is kept as *how often each pair was
drawn*, so that the numbers are sorted once, and the ranks of every resample are running sums of those counts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ..correlation import Numbers, checked, spearman, ties

RESAMPLES = 10_000
_BLOCK = 1 << 21  # counts of a temporary


@dataclass(frozen=True)
class Interval:
    """A figure, and between what the truth lies with the confidence asked for (0.95 unless told)."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.2f} [{100 * self.low:.2f}, {100 * self.high:.2f}]"


def interval(
    said: Numbers, gold: Numbers, *, resamples: int = RESAMPLES, seed: int = 0, level: float = 0.95
) -> Interval:
    """Spearman's correlation of `said` with `gold`."""
    said, gold = checked(said, gold)
    values = _spearmans([said], gold, resamples, seed)[0]
    return _interval(spearman(said, gold), values, level)


def difference(
    ours: Numbers, theirs: Numbers, gold: Numbers, *, resamples: int = RESAMPLES, seed: int = 0, level: float = 0.95
) -> Interval:
    """How much better `ours` correlates with `gold` than `theirs`, both on the same resamples (a paired test)."""
    ours, theirs, gold = checked(ours, theirs, gold)
    a, b = _spearmans([ours, theirs], gold, resamples, seed)
    return _interval(spearman(ours, gold) - spearman(theirs, gold), a - b, level)


def _interval(value: float, values: Float[np.ndarray, " B"], level: float) -> Interval:
    tail = 50 * (1 - level)
    low, high = np.nanpercentile(values, [tail, 100 - tail])
    return Interval(value, float(low), float(high))


def _spearmans(said: list[Numbers], gold: Numbers, resamples: int, seed: int) -> Float[np.ndarray, "S B"]:
    """Spearman's correlation of every row with gold, in every resample."""
    ranked, truth = [_ranker(row) for row in said], _ranker(gold)
    found = []
    for counts in _resampled(len(gold), resamples, seed):
        true = truth(counts)
        found.append(np.stack([_correlation(rank(counts), true, counts) for rank in ranked]))
    return np.concatenate(found, axis=1)


def _resampled(n: int, resamples: int, seed: int) -> Iterator[Int[np.ndarray, "b n"]]:
    """How often each of n pairs is drawn, some resamples at a time."""
    random = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        b = min(step, resamples - start)
        drawn = random.integers(n, size=(b, n)) + n * np.arange(b)[:, None]
        yield np.bincount(drawn.ravel(), minlength=b * n).reshape(b, n)


def _ranker(x: Numbers) -> Callable[[Int[np.ndarray, "b n"]], Float[np.ndarray, "b n"]]:
    """Counts to the rank of each number in each resample, less the mean rank."""
    order, first, group = ties(x)
    run = np.empty(len(x), np.int64)
    run[order] = group

    def rank(counts: Int[np.ndarray, "b n"]) -> Float[np.ndarray, "b n"]:
        members = np.add.reduceat(counts[:, order], first, axis=1)
        middle = np.cumsum(members, axis=1) - (members - 1) / 2
        return np.asarray((middle - (len(x) + 1) / 2)[:, run])

    return rank


def _correlation(
    x: Float[np.ndarray, "b n"], y: Float[np.ndarray, "b n"], counts: Int[np.ndarray, "b n"]
) -> Float[np.ndarray, " b"]:
    """Of centred ranks; NaN where all that was drawn is equal."""
    weighted = x * counts
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt((weighted * x).sum(1) * (y * y * counts).sum(1))
        return np.asarray((weighted * y).sum(1) / spread)
