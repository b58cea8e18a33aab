"""Bootstrap confidence intervals for a score, and for the difference between two scores on the same items.

Percentile method (Efron 1979; Efron and Tibshirani 1993, chapters 13 and 16).
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...array_types import Float, Int
from ...arrays.correlation import Numbers, checked
from ...errors import BadInput
from ...runtime.arguments import known_name, whole_number
from ...wording import counted
from .bootstrap import STATISTICS, resample
from .hypothesis_tests import two_sided

RESAMPLES = 10_000
ENDS = 2.5, 97.5  # percentiles of the resamples: an interval contains 95 % of them


@dataclass(frozen=True)
class Interval:
    """A score and its confidence interval (95 % by default)."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return self.format("")

    def format(self, sign: str) -> str:
        """The value and the ends × 100, signed if `sign` is "+" (for differences); uninformative ends are omitted."""
        ends = f" [{100 * self.low:{sign}.2f}, {100 * self.high:{sign}.2f}]"
        return f"{100 * self.value:{sign}.2f}{ends if self.is_informative else ''}"

    @property
    def is_informative(self) -> bool:
        """Whether resamples differ; if all give the same score, as for a single item, the interval is uninformative."""
        return 1e-9 < self.half < float("inf")  # smaller widths are rounding errors

    @property
    def half(self) -> float:
        """Half the width of the interval: the number printed after ±."""
        return (self.high - self.low) / 2


def interval(predicted: Numbers, gold: Numbers, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """Spearman's correlation between `predicted` and `gold`, with its interval."""
    return intervals([predicted], gold, statistic="spearman", resamples=resamples, seed=seed)[0]


def difference(ours: Numbers, theirs: Numbers, gold: Numbers, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """How much better `ours` correlates with `gold` than `theirs` does, on the same resamples (a paired test)."""
    return paired(ours, theirs, gold, statistic="spearman", resamples=resamples, seed=seed)[0]


def intervals(
    predicted: Sequence[Numbers],
    gold: Numbers | None = None,
    groups: Int[np.ndarray, " n"] | None = None,
    *,
    statistic: str,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Interval]:
    """Compute a statistic of each row of predictions, with its interval; all rows share the same resamples.

    With `groups`, items are drawn within their group, and the statistic is the unweighted mean over groups.
    """
    values, draws = map(mean_of_groups, _by_group(predicted, gold, groups, statistic, resamples, seed))
    return [percentiles(value, row) for value, row in zip(values, draws, strict=True)]


def paired(
    ours: Numbers,
    theirs: Numbers,
    gold: Numbers | None = None,
    groups: Int[np.ndarray, " n"] | None = None,
    *,
    statistic: str,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[Interval, float]:
    """The difference of a statistic between two rows of predictions for the same items, and its two-sided p-value.

    p is twice the fraction of resamples in which the difference changes sign or is zero, with 1 added to each count so
    that p is never 0 (Davison and Hinkley 1997, section 4.2): with 10,000 resamples, it is at least 0.0002. If no
    resample changes the sign, the p-value of a t test with the bootstrap standard error is used if it is smaller. In
    any case, p is never below the smallest value that a sign test can give: 0.5 to the power of n − 1 for n items (for
    a mean, n counts only items that differ; for average precision, only positive items).

    A group in which the statistic is undefined for either side is left out for both, with a warning.
    """
    by_group = _by_group([ours, theirs], gold, groups, statistic, resamples, seed)
    value, differences = (part[:, 0] - part[:, 1] for part in by_group)
    if 0 < (undefined := int(np.isnan(value).sum())) < len(value):
        left_out = f"left out for both models: {counted(undefined, 'group')} of {len(value)}"
        warnings.warn(f"{left_out}, because {statistic} is undefined for one of them", stacklevel=2)
    lead, draws = float(mean_of_groups(value)), mean_of_groups(differences)
    draws = draws[np.isfinite(draws)]
    items = len(ours) if gold is None or statistic != "average_precision" else int((gold > 0).sum())
    opposite = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    p = min(1.0, 2 * (opposite + 1) / (len(draws) + 1))
    if opposite == 0 and len(draws) > 1 and np.isfinite(lead):
        error = float(draws.std(ddof=1))
        t = lead / error if error else math.inf
        p = min(p, two_sided(t, max(1, items - len(value))))
    deciding = int(np.not_equal(ours, theirs).sum()) if statistic == "mean" else items
    return percentiles(lead, draws), max(p, 0.5 ** max(0, deciding - 1))


def percentiles(value: float, draws: Float[np.ndarray, " B"]) -> Interval:
    """A value with the interval that contains 95 % of its finite draws."""
    low, high = np.nanpercentile(draws, ENDS) if np.isfinite(draws).any() else (np.nan, np.nan)
    return Interval(float(value), float(low), float(high))


def _by_group(
    predicted: Sequence[Numbers],
    gold: Numbers | None,
    groups: Int[np.ndarray, " n"] | None,
    statistic: str,
    resamples: int,
    seed: int,
) -> tuple[Float[np.ndarray, "G S"], Float[np.ndarray, "G S B"]]:
    """The statistic of each row in each group, on all items and on every resample; NaN if all its values are equal."""
    predicted, gold = _checked_rows(predicted, gold, statistic)
    resamples = whole_number("resamples", resamples)
    random, n = np.random.default_rng(seed), len(predicted[0])
    members = [np.arange(n)] if groups is None else [np.flatnonzero(groups == group) for group in np.unique(groups)]
    values, draws = [], []
    for items in members:
        compute = STATISTICS[statistic]([row[items] for row in predicted], None if gold is None else gold[items])
        values.append(compute(np.ones((len(items), 1), np.int64))[:, 0])
        draws.append(resample(compute, len(items), resamples, random))
    return np.stack(values), np.stack(draws)


def _checked_rows(
    predicted: Sequence[Numbers], gold: Numbers | None, statistic: str
) -> tuple[list[Numbers], Numbers | None]:
    if known_name("statistic", statistic, STATISTICS) == "mean":
        return [np.asarray(row, np.float64) for row in predicted], None
    if gold is None:
        raise BadInput(f"{statistic} compares predictions with gold values, but no gold values were given")
    *rows, truth = checked(*predicted, gold)
    return rows, truth


def mean_of_groups(groups: np.ndarray) -> np.ndarray:
    """The mean over the groups that have a value; NaN if no group does."""
    finite = np.isfinite(groups)
    counts = finite.sum(0)
    total = np.where(finite, groups, 0).sum(0)
    return np.asarray(np.where(counts > 0, total / np.maximum(counts, 1), np.nan))
