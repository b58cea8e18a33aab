"""Two models on one task: how far apart, how sure, and in words."""

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
    """The difference of two evidences (the first less the second), as a share, and what tests say of it.

    `p` is the paired bootstrap's; `tests` holds the p of classical tests where they apply: "williams" and "steiger"
    for correlations, "mcnemar" for right and wrong. `holm_adjusted` is `p` after Holm's correction over the tasks that
    were compared together, and `p` itself until then.
    """

    difference: Interval
    p: float
    tests: dict[str, float]
    adjusted: float

    @property
    def known(self) -> bool:
        """Whether there is a difference with an interval at all; without one, nothing was compared."""
        d = self.difference
        return bool(np.isfinite([d.value, d.low, d.high]).all())

    @property
    def sure(self) -> bool:
        return self.known and self.adjusted < ALPHA

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "sure": self.sure}

    def verdict(self, ours: str, theirs: str) -> str:
        """In words, by names of the two."""
        if not self.known:
            return "not comparable"
        if not self.sure:
            return "not told apart"
        return f"{ours if self.difference.value > 0 else theirs} is better"


def estimate(evidence: Evidence, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """The score of an evidence, and its interval."""
    return estimates([evidence], resamples=resamples, seed=seed)[0]


def estimates(evidence: Sequence[Evidence], *, resamples: int = RESAMPLES, seed: int = 0) -> list[Interval]:
    """Of several evidences; those with the same gold, groups and statistic share their resamples, which is quicker."""
    families: dict[tuple[object, ...], list[int]] = {}
    for i, one in enumerate(evidence):
        key = (one.statistic, len(one.said), _bytes(one.gold), _bytes(one.groups))
        families.setdefault(key, []).append(i)
    found: dict[int, Interval] = {}
    for members in families.values():
        first, said = evidence[members[0]], [evidence[i].said for i in members]
        shared = intervals(said, first.gold, first.groups, statistic=first.statistic, resamples=resamples, seed=seed)
        found.update(zip(members, shared, strict=True))
    return [found[i] for i in range(len(evidence))]


def compare(ours: Evidence, theirs: Evidence, *, resamples: int = RESAMPLES, seed: int = 0) -> Comparison:
    """Two models on the same items.

    Raises:
        BadInput: the items, their groups or the statistic are not the same.
    """
    if not comparable(ours, theirs):
        raise BadInput(
            f"only evidence on the same items can be compared; found {ours.statistic} of {len(ours.said):,} and "
            f"{theirs.statistic} of {len(theirs.said):,}, or other gold or groups"
        )
    lead, p = paired(
        ours.said, theirs.said, ours.gold, ours.groups, statistic=ours.statistic, resamples=resamples, seed=seed
    )
    return Comparison(lead, p, _classical(ours, theirs), p)


def comparable(ours: Evidence, theirs: Evidence) -> bool:
    """The same statistic on the same items."""
    return (
        ours.statistic == theirs.statistic
        and len(ours.said) == len(theirs.said)
        and _bytes(ours.gold) == _bytes(theirs.gold)
        and _bytes(ours.groups) == _bytes(theirs.groups)
    )


def holm_adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same ones, with Holm's correction over all of them."""
    corrected = holm([one.p for one in comparisons])
    return [replace(one, adjusted=p) for one, p in zip(comparisons, corrected, strict=True)]


def _classical(ours: Evidence, theirs: Evidence) -> dict[str, float]:
    """P of the tests that fit; none where groups are averaged, for which they were not made."""
    if ours.groups is not None:
        return {}
    if ours.statistic in CORRELATIONS and ours.gold is not None and len(ours.said) > 3:
        correlate = CORRELATIONS[ours.statistic]
        three = correlate(ours.said, ours.gold), correlate(theirs.said, ours.gold), correlate(ours.said, theirs.said)
        if not all(np.isfinite(three)):
            return {}
        a, b, between = (max(-1.0, min(1.0, r)) for r in three)
        n = len(ours.said)
        return {"williams": williams(a, b, between, n).p, "steiger": steiger(a, b, between, n).p}
    if ours.statistic == "mean" and all(np.isin(e.said, (0, 1)).all() for e in (ours, theirs)):
        return {"mcnemar": mcnemar(ours.said, theirs.said).p}
    return {}


def _bytes(x: np.ndarray | None) -> bytes | None:
    return None if x is None else np.ascontiguousarray(x).tobytes()
