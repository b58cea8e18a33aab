"""Rules: which of an anchor's nearest texts may be its negatives. A new one is a class with `keeps`.

Rules stand in a list, and each sees what those before it left: `RankBetween(10, 100)` after
`ExcludeKnownPositives()` counts ranks among texts that nobody called alike. A rule looks at each candidate
and at those that are nearer; never at farther ones, so that how far the search went changes nothing.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from ..errors import BadInput
from .known_positives import KnownPositives
from .reranker_filter import RerankerFilter, ScoresPairs


@dataclass(frozen=True, eq=False)
class CandidateBlock:
    """The d nearest candidates of each of Q rows, nearest first, and what is known of them."""

    rows: Int[np.ndarray, " Q"]
    candidates: Int[np.ndarray, "Q d"]
    scores: Float[np.ndarray, "Q d"]  # similarity to the anchor
    positive: Float[np.ndarray, " Q"]  # similarity of the row's own positive to the anchor
    left: Bool[np.ndarray, "Q d"]  # by the rules before
    said: KnownPositives
    judge: RerankerFilter


class Rule(ABC):
    """What says of each candidate whether it may stay."""

    @abstractmethod
    def keeps(self, seen: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        """Of those that are left; what it says of others does not count."""

    def ends(self, seen: CandidateBlock) -> Bool[np.ndarray, " Q"]:
        """Whether nothing farther away could stay either, so that the search need not go on."""
        return np.zeros(len(seen.rows), bool)

    def __str__(self) -> str:
        """As one would write it: settings that are not as usual."""
        held = [(f.name, getattr(self, f.name), f.default) for f in fields(self)]  # type: ignore[arg-type]
        told = [
            value if isinstance(value, Rule) else f"{name}={value}"
            for name, value, usual in held
            if value != usual and name != "reranker"
        ]
        return f"{type(self).__name__}({', '.join(map(str, told))})"


@dataclass(frozen=True)
class ExcludeKnownPositives(Rule):
    """Takes the anchor's own text, whatever is declared its positive in any row, and, `through` others, its group.

    Texts are compared in normalized form (`likewise.text.normalization.normalized`), and an anchor in several rows, or
    in several spellings, is one. Through others: where a–b and b–c are declared, c is no negative of a.
    """

    through: bool = True

    def keeps(self, seen: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        taken = seen.said.joined if self.through else seen.said.paired
        return np.asarray(~taken(seen.rows, seen.candidates))


@dataclass(frozen=True)
class RankBetween(Rule):
    """Takes the `low` nearest, which may be positives that nobody labelled, and what comes after the first `high`."""

    low: int = 0
    high: int | None = None

    def __post_init__(self) -> None:
        if self.low < 0 or (self.high is not None and self.high <= self.low):
            raise BadInput(f"{self} leaves nothing; wanted 0 ≤ low < high")

    def keeps(self, seen: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        rank = seen.left.cumsum(1) - 1
        kept: Bool[np.ndarray, "Q d"] = (rank >= self.low) & (rank < (math.inf if self.high is None else self.high))
        return kept

    def ends(self, seen: CandidateBlock) -> Bool[np.ndarray, " Q"]:
        return np.asarray(seen.left.sum(1) >= (math.inf if self.high is None else self.high))


@dataclass(frozen=True)
class BelowPositive(Rule):
    """Takes what is not clearly less like the anchor than its own positive is (Moreira et al. 2024, NV-Retriever).

    With s the positive's score, a candidate stays below s − margin ("TopK-MarginPos"), or below share · s
    ("TopK-PercPos", 0.95 theirs). Where s is negative, share takes the same part of |s| away: s − (1 − share) · |s|.
    """

    margin: float | None = field(default=None, kw_only=True)
    share: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if (self.margin is None) == (self.share is None):
            raise BadInput(f"{self}: wanted margin or share, one of them")
        if self.margin is not None and not 0 <= self.margin < math.inf:
            raise BadInput(f"{self}: wanted a margin of 0 or more")
        if self.share is not None and not 0 < self.share <= 1:
            raise BadInput(f"{self}: wanted a share above 0 and up to 1")

    def keeps(self, seen: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        less = self.margin if self.share is None else (1 - self.share) * np.abs(seen.positive)
        return seen.scores < (seen.positive - less)[:, None]


@dataclass(frozen=True)
class ScoreBetween(Rule):
    """Takes what scores below `low` or above `high`."""

    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low <= self.high:  # nor where one is no number
            raise BadInput(f"{self} leaves nothing; wanted low ≤ high")

    def keeps(self, seen: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        return (seen.scores >= self.low) & (seen.scores <= self.high)

    def ends(self, seen: CandidateBlock) -> Bool[np.ndarray, " Q"]:
        return seen.scores[:, -1] < self.low


@dataclass(frozen=True, eq=False)
class RerankerScoreBelow(Rule):
    """A rule about scores, by those of a reranker: it reads the anchor together with the candidate.

    >>> RerankerScoreBelow(reranker, ScoreBetween(high=0.3))  # doctest: +SKIP
    >>> RerankerScoreBelow(reranker, BelowPositive(margin=0.2))  # doctest: +SKIP

    Only what the rules before it left is read, each pair once: put it last. `label` is whose probability the score
    is, where the model has several labels.
    """

    reranker: ScoresPairs = field(repr=False)
    rule: Rule
    label: int | str | None = None

    def keeps(self, seen: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        scores, positive = seen.judge.of(self.reranker, self.label, seen.rows, seen.candidates, seen.left)
        return self.rule.keeps(replace(seen, scores=scores, positive=positive))


RULES: dict[str, Callable[..., Rule]] = {
    "ExcludeKnownPositives": ExcludeKnownPositives,
    "RankBetween": RankBetween,
    "ScoreBetween": ScoreBetween,
    "BelowPositive": BelowPositive,
    "RerankerScoreBelow": RerankerScoreBelow,
}
"""In the order in which the command line applies them."""
