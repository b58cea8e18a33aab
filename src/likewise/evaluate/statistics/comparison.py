"""Compare two models on one or more tasks: their difference in score, its interval and p-value, and a verdict."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ...arrays.correlation import pearson, spearman
from ...errors import BadInput
from ..task import Evidence
from .hypothesis_tests import holm, mcnemar, steiger, williams
from .significance import RESAMPLES, Interval, intervals, paired

ALPHA = 0.05
CORRELATIONS = {"pearson": pearson, "spearman": spearman}


@dataclass(frozen=True)
class Comparison:
    """The difference of two scores (first minus second, as a fraction of 1), and the results of tests.

    `p` is from the paired bootstrap; `tests` contains the p-values of the classical tests that apply: "williams" and
    "steiger" for correlations, "mcnemar" for right or wrong answers. `adjusted` is `p` after Holm's correction across
    the tasks that were compared together, or `p` itself if no correction was made.
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
    how = {"resamples": resamples, "seed": seed}
    for members in families.values():
        first, rows = evidence[members[0]], [evidence[i].values for i in members]
        shared = intervals(rows, first.gold, first.groups, statistic=first.statistic, **how)
        results.update(zip(members, shared, strict=True))
    return [results[i] for i in range(len(evidence))]


def compare(ours: Evidence, theirs: Evidence, *, resamples: int = RESAMPLES, seed: int = 0) -> Comparison:
    """Compare two models on the same items; raises if the items, their groups or the statistic differ."""
    if not comparable(ours, theirs):
        raise BadInput(
            f"only evidence on the same items can be compared; found {ours.statistic} over {len(ours.values):,} items "
            f"and {theirs.statistic} over {len(theirs.values):,} items (their gold values and groups must be equal too)"
        )
    rows = ours.values, theirs.values, ours.gold, ours.groups
    difference, p = paired(*rows, statistic=ours.statistic, resamples=resamples, seed=seed)
    return Comparison(difference, p, _classical_tests(ours, theirs), p)


def comparable(ours: Evidence, theirs: Evidence) -> bool:
    return _family(ours) == _family(theirs)


def holm_adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    corrected = holm([one.p for one in comparisons])
    return [replace(one, adjusted=p) for one, p in zip(comparisons, corrected, strict=True)]


def _classical_tests(ours: Evidence, theirs: Evidence) -> dict[str, float]:
    """The p-value of each test that applies; no test applies to means over groups."""
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
