"""Compare two models on one or more tasks: their difference in score, its interval and p-value, a verdict in words."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ...arrays.correlation import pearson, spearman
from ...errors import BadInput
from ..task import Evidence
from .bootstrap import STATISTICS, Counts, ResampledStatistic, draw_counts
from .hypothesis_tests import holm, mcnemar, steiger, williams
from .significance import RESAMPLES, USUAL, BootstrapSettings, Interval, intervals, mean_of_groups, paired, percentiles

ALPHA = 0.05
CORRELATIONS = {"pearson": pearson, "spearman": spearman}


@dataclass(frozen=True)
class Comparison:
    """The difference of two scores (first minus second, as a fraction of 1), and the results of tests.

    `p` is from the paired bootstrap; `tests` contains the p-values of the classical tests that apply: "williams" and
    "steiger" for correlations, "mcnemar" for right or wrong answers. `adjusted` is `p` after Holm's correction across
    the tasks that were compared together, and `p` itself before that.
    """

    difference: Interval
    p: float
    tests: dict[str, float]
    adjusted: float

    @property
    def valid(self) -> bool:
        """Whether the difference and its interval are finite; otherwise, no comparison was possible."""
        d = self.difference
        return bool(np.isfinite([d.value, d.low, d.high]).all())

    @property
    def significant(self) -> bool:
        """Whether the adjusted p is below ALPHA."""
        return self.valid and self.adjusted < ALPHA

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "significant": self.significant}

    def verdict(self, ours: str, theirs: str) -> str:
        """The result in words; `ours` and `theirs` are the names of the two models."""
        if not self.valid:
            return "not comparable"
        if not self.significant:
            return "no significant difference"
        return f"{ours if self.difference.value > 0 else theirs} is better"


def estimate(evidence: Evidence, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """The score computed from the evidence, with its confidence interval."""
    return estimates([evidence], resamples=resamples, seed=seed)[0]


def estimates(evidence: Sequence[Evidence], *, resamples: int = RESAMPLES, seed: int = 0) -> list[Interval]:
    """The scores from several pieces of evidence; those with equal gold, groups and statistic share resamples."""
    families: dict[tuple[object, ...], list[int]] = {}
    for i, one in enumerate(evidence):
        families.setdefault(_family(one), []).append(i)
    results: dict[int, Interval] = {}
    bootstrap = BootstrapSettings(resamples, seed)
    for members in families.values():
        first, rows = evidence[members[0]], [evidence[i].values for i in members]
        shared = intervals(rows, first.gold, first.groups, statistic=first.statistic, bootstrap=bootstrap)
        results.update(zip(members, shared, strict=True))
    return [results[i] for i in range(len(evidence))]


def compare(ours: Evidence, theirs: Evidence, *, resamples: int = RESAMPLES, seed: int = 0) -> Comparison:
    """Compare two models on the same items; raises if the items, their groups or the statistic differ."""
    if not comparable(ours, theirs):
        raise BadInput(
            f"only evidence on the same items can be compared; found {ours.statistic} over {len(ours.values):,} items "
            f"and {theirs.statistic} over {len(theirs.values):,}, or different gold values or groups"
        )
    rows, how = (ours.values, theirs.values, ours.gold, ours.groups), BootstrapSettings(resamples, seed)
    difference, p = paired(*rows, statistic=ours.statistic, bootstrap=how)
    return Comparison(difference, p, _classical_tests(ours, theirs), p)


def comparable(ours: Evidence, theirs: Evidence) -> bool:
    return _family(ours) == _family(theirs)


def holm_adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    corrected = holm([one.p for one in comparisons])
    return [replace(one, adjusted=p) for one, p in zip(comparisons, corrected, strict=True)]


def mean_interval(
    evidence: Sequence[Evidence], minus: Sequence[Evidence] | None = None, *, bootstrap: BootstrapSettings = USUAL
) -> Interval:
    """The unweighted mean of the scores on several tasks, or of their differences from `minus`, with its interval.

    Tasks share items (most pairs in STS-B's test split are also in STS12 to STS16), so errors are not independent: one
    bootstrap draws from the distinct items of all tasks, and an item counts equally often in every task that contains
    it. Items without identifiers count as different from all others.
    """
    others: Sequence[Evidence | None] = [None] * len(evidence) if minus is None else minus
    scores = [_score(ours, theirs) for ours, theirs in zip(evidence, others, strict=True)]
    places, count = _distinct_items(evidence)

    def mean(counts: Counts) -> Float[np.ndarray, " b"]:
        return np.asarray(np.mean([score(counts[at]) for score, at in zip(scores, places, strict=True)], axis=0))

    value = float(mean(np.ones((count, 1), np.int64))[0])
    blocks = draw_counts(count, bootstrap.resamples, np.random.default_rng(bootstrap.seed))
    return percentiles(value, np.concatenate([mean(counts) for counts in blocks]), bootstrap.level)


def _score(ours: Evidence, theirs: Evidence | None) -> Callable[[Counts], Float[np.ndarray, " b"]]:
    """The score on a task, or the difference of two scores, for every column of item counts."""
    if theirs is not None and not comparable(ours, theirs):
        raise BadInput("only evidence on the same items can be compared, task by task")
    rows = [one.values for one in (ours, theirs) if one is not None]
    groups = np.zeros(len(ours.values), int) if ours.groups is None else ours.groups
    parts: list[tuple[Int[np.ndarray, " g"], ResampledStatistic]] = []
    for group in np.unique(groups):
        at = np.flatnonzero(groups == group)
        gold = None if ours.gold is None else ours.gold[at]
        parts.append((at, STATISTICS[ours.statistic]([row[at] for row in rows], gold)))

    def score(counts: Counts) -> Float[np.ndarray, " b"]:
        by_group = np.stack([statistic(counts[at]) for at, statistic in parts])
        return mean_of_groups(by_group[:, 0] if theirs is None else by_group[:, 0] - by_group[:, 1])

    return score


def _distinct_items(evidence: Sequence[Evidence]) -> tuple[list[Int[np.ndarray, " n"]], int]:
    """The position of each task's items among the distinct items, and the number of distinct items."""
    sizes = [len(one.values) for one in evidence]
    own = np.split(-1 - np.arange(sum(sizes)), np.cumsum(sizes)[:-1])  # negative, so that they match no digest
    keys = [key if one.items is None else one.items for one, key in zip(evidence, own, strict=True)]
    distinct, places = np.unique(np.concatenate(keys), return_inverse=True)
    return np.split(places, np.cumsum(sizes)[:-1]), len(distinct)


def _classical_tests(ours: Evidence, theirs: Evidence) -> dict[str, float]:
    """The p-value of each test that applies; none applies to means over groups."""
    if ours.groups is not None:
        return {}
    if ours.statistic in CORRELATIONS and ours.gold is not None and len(ours.values) > 3:
        correlate, both = CORRELATIONS[ours.statistic], (ours.values, theirs.values)
        correlations = [*(correlate(values, ours.gold) for values in both), correlate(*both)]
        if not all(np.isfinite(correlations)):
            return {}
        a, b, between = (max(-1.0, min(1.0, r)) for r in correlations)
        n = len(ours.values)
        return {"williams": williams(a, b, between, n).p, "steiger": steiger(a, b, between, n).p}
    if ours.statistic == "mean" and all(np.isin(e.values, (0, 1)).all() for e in (ours, theirs)):
        return {"mcnemar": mcnemar(ours.values, theirs.values).p}
    return {}


def _family(evidence: Evidence) -> tuple[object, ...]:
    """What pieces of evidence must have in common to be compared or to share resamples."""
    arrays = (None if x is None else np.ascontiguousarray(x).tobytes() for x in (evidence.gold, evidence.groups))
    return (evidence.statistic, len(evidence.values), *arrays)
