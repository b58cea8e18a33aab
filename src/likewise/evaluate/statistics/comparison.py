"""Two models on one task: the difference of their scores, its interval and p, and a verdict in words."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ...arrays.correlation import pearson, spearman
from ...errors import BadInput
from ..task import Evidence
from .hypothesis_tests import holm, mcnemar, steiger, williams
from .significance import RESAMPLES, BootstrapSettings, Interval, intervals, paired

ALPHA = 0.05
CORRELATIONS = {"pearson": pearson, "spearman": spearman}


@dataclass(frozen=True)
class Comparison:
    """The difference of two scores (first minus second, as a fraction of 1), and the results of tests.

    `p` is the paired bootstrap's; `tests` holds the p of classical tests where they apply: "williams" and "steiger"
    for correlations, "mcnemar" for right and wrong. `adjusted` is `p` after Holm's correction over the tasks that
    were compared at once, and `p` itself until then.
    """

    difference: Interval
    p: float
    tests: dict[str, float]
    adjusted: float

    @property
    def valid(self) -> bool:
        """Whether the difference and its interval are finite; otherwise nothing was compared."""
        d = self.difference
        return bool(np.isfinite([d.value, d.low, d.high]).all())

    @property
    def significant(self) -> bool:
        """Whether the adjusted p is below ALPHA."""
        return self.valid and self.adjusted < ALPHA

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "significant": self.significant}

    def verdict(self, ours: str, theirs: str) -> str:
        """The result in words; `ours` and `theirs` are names of the two models."""
        if not self.valid:
            return "not comparable"
        if not self.significant:
            return "no significant difference"
        return f"{ours if self.difference.value > 0 else theirs} is better"


def estimate(evidence: Evidence, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """The score that the evidence gives, and its confidence interval."""
    return estimates([evidence], resamples=resamples, seed=seed)[0]


def estimates(evidence: Sequence[Evidence], *, resamples: int = RESAMPLES, seed: int = 0) -> list[Interval]:
    """The scores of several pieces of evidence; equal gold, groups and statistic share resamples, which is faster."""
    families: dict[tuple[object, ...], list[int]] = {}
    for i, one in enumerate(evidence):
        key = (one.statistic, len(one.values), _bytes(one.gold), _bytes(one.groups))
        families.setdefault(key, []).append(i)
    results: dict[int, Interval] = {}
    bootstrap = BootstrapSettings(resamples, seed)
    for members in families.values():
        first, rows = evidence[members[0]], [evidence[i].values for i in members]
        shared = intervals(rows, first.gold, first.groups, statistic=first.statistic, bootstrap=bootstrap)
        results.update(zip(members, shared, strict=True))
    return [results[i] for i in range(len(evidence))]


def compare(ours: Evidence, theirs: Evidence, *, resamples: int = RESAMPLES, seed: int = 0) -> Comparison:
    """Compare two models on the same items.

    Raises:
        BadInput: the items, their groups or the statistic differ.
    """
    if not comparable(ours, theirs):
        raise BadInput(
            f"only evidence on the same items can be compared; found {ours.statistic} of {len(ours.values):,} items "
            f"and {theirs.statistic} of {len(theirs.values):,}, or different gold values or groups"
        )
    bootstrap = BootstrapSettings(resamples, seed)
    difference, p = paired(
        ours.values, theirs.values, ours.gold, ours.groups, statistic=ours.statistic, bootstrap=bootstrap
    )
    return Comparison(difference, p, _classical_tests(ours, theirs), p)


def comparable(ours: Evidence, theirs: Evidence) -> bool:
    """Whether both have the same statistic on the same items."""
    return (
        ours.statistic == theirs.statistic
        and len(ours.values) == len(theirs.values)
        and _bytes(ours.gold) == _bytes(theirs.gold)
        and _bytes(ours.groups) == _bytes(theirs.groups)
    )


def holm_adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons, with Holm's correction over all of them."""
    corrected = holm([one.p for one in comparisons])
    return [replace(one, adjusted=p) for one, p in zip(comparisons, corrected, strict=True)]


def _classical_tests(ours: Evidence, theirs: Evidence) -> dict[str, float]:
    """The p of each test that applies; none for means over groups, which these tests do not cover."""
    if ours.groups is not None:
        return {}
    if ours.statistic in CORRELATIONS and ours.gold is not None and len(ours.values) > 3:
        correlate = CORRELATIONS[ours.statistic]
        correlations = (
            correlate(ours.values, ours.gold),
            correlate(theirs.values, ours.gold),
            correlate(ours.values, theirs.values),
        )
        if not all(np.isfinite(correlations)):
            return {}
        a, b, between = (max(-1.0, min(1.0, r)) for r in correlations)
        n = len(ours.values)
        return {"williams": williams(a, b, between, n).p, "steiger": steiger(a, b, between, n).p}
    if ours.statistic == "mean" and all(np.isin(e.values, (0, 1)).all() for e in (ours, theirs)):
        return {"mcnemar": mcnemar(ours.values, theirs.values).p}
    return {}


def _bytes(x: np.ndarray | None) -> bytes | None:
    return None if x is None else np.ascontiguousarray(x).tobytes()
