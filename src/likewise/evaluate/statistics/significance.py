"""How sure a figure is: bootstrap intervals, of one and of the difference of two on the same items.

Percentile method (Efron 1979; Efron and Tibshirani 1993, chapters 13 and 16).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ...arrays.correlation import Numbers, checked
from ...errors import BadInput
from .bootstrap import STATISTICS, resample

RESAMPLES = 10_000
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A figure, and between what the truth lies with the confidence asked for (0.95 unless told)."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.2f} [{100 * self.low:.2f}, {100 * self.high:.2f}]"

    @property
    def half(self) -> float:
        """Half its width: what is printed after ±."""
        return (self.high - self.low) / 2


def interval(
    said: Numbers, gold: Numbers, *, resamples: int = RESAMPLES, seed: int = 0, level: float = LEVEL
) -> Interval:
    """Spearman's correlation of `said` with `gold`."""
    return intervals([said], gold, statistic="spearman", resamples=resamples, seed=seed, level=level)[0]


def difference(
    ours: Numbers, theirs: Numbers, gold: Numbers, *, resamples: int = RESAMPLES, seed: int = 0, level: float = LEVEL
) -> Interval:
    """How much better `ours` correlates with `gold` than `theirs`, both on the same resamples (a paired test)."""
    return paired(ours, theirs, gold, statistic="spearman", resamples=resamples, seed=seed, level=level)[0]


def intervals(
    said: Sequence[Numbers],
    gold: Numbers | None = None,
    groups: Int[np.ndarray, " n"] | None = None,
    *,
    statistic: str,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> list[Interval]:
    """A statistic of each row, and its interval; all rows are measured on the same resamples.

    With `groups`, items are drawn within their group, and the statistic is the plain mean over groups.
    """
    values, draws = _measured(said, gold, groups, statistic, resamples, seed)
    return [_percentiles(value, row, level) for value, row in zip(values, draws, strict=True)]


def paired(
    ours: Numbers,
    theirs: Numbers,
    gold: Numbers | None = None,
    groups: Int[np.ndarray, " n"] | None = None,
    *,
    statistic: str,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = LEVEL,
) -> tuple[Interval, float]:
    """The difference of a statistic between two rows on the same items, and its two-sided p.

    p is twice the share of resamples in which the difference turns its sign or vanishes, each count raised by one,
    so that it is never 0 (Davison and Hinkley 1997, section 4.2): with 10,000 resamples it is 0.0002 or more.
    """
    values, draws = _measured([ours, theirs], gold, groups, statistic, resamples, seed)
    lead = draws[0] - draws[1]
    lead = lead[np.isfinite(lead)]
    turned = min(int((lead <= 0).sum()), int((lead >= 0).sum()))
    return _percentiles(values[0] - values[1], lead, level), min(1.0, 2 * (turned + 1) / (len(lead) + 1))


def _percentiles(value: float, draws: Float[np.ndarray, " B"], level: float) -> Interval:
    if not np.isfinite(draws).any():
        return Interval(float(value), float("nan"), float("nan"))
    tail = 50 * (1 - level)
    low, high = np.nanpercentile(draws, [tail, 100 - tail])
    return Interval(float(value), float(low), float(high))


def _measured(
    said: Sequence[Numbers],
    gold: Numbers | None,
    groups: Int[np.ndarray, " n"] | None,
    statistic: str,
    resamples: int,
    seed: int,
) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, "S B"]]:
    """The statistic of each row on all items, and in every resample.

    A group in which all that was drawn is equal has no correlation, and is left out of the mean of that resample.
    """
    said, gold = _sides(said, gold, statistic)
    if resamples < 1:
        raise BadInput(f"resamples is {resamples}; wanted 1 or more")
    random, n = np.random.default_rng(seed), len(said[0])
    members = [np.arange(n)] if groups is None else [np.flatnonzero(groups == group) for group in np.unique(groups)]
    values, draws = [], []
    for items in members:
        prepared = STATISTICS[statistic]([row[items] for row in said], None if gold is None else gold[items])
        values.append(prepared(np.ones((len(items), 1), np.int64))[:, 0])
        draws.append(resample(prepared, len(items), resamples, random))
    return _mean(values), _mean(draws)


def _sides(said: Sequence[Numbers], gold: Numbers | None, statistic: str) -> tuple[list[Numbers], Numbers | None]:
    if statistic not in STATISTICS:
        raise BadInput(f"there is no statistic {statistic!r}; there are {', '.join(STATISTICS)}")
    if statistic == "mean":
        return [np.asarray(row, np.float64) for row in said], None
    if gold is None:
        raise BadInput(f"{statistic} compares what was said with the truth, and no gold is there")
    *rows, truth = checked(*said, gold)
    return rows, truth


def _mean(parts: list[np.ndarray]) -> np.ndarray:
    """Over groups; NaN only where no group has a value."""
    if len(parts) == 1:
        return parts[0]
    stacked = np.stack(parts)
    known = np.isfinite(stacked)
    counted = known.sum(0)
    total = np.where(known, stacked, 0).sum(0)
    return np.asarray(np.where(counted > 0, total / np.maximum(counted, 1), np.nan))
