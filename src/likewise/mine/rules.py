"""Rules that decide which of an anchor's nearest texts may be its negatives. To add a rule, write a class with `keeps`.

Rules are applied in order, and each sees only the candidates kept by the earlier ones: `RankBetween(10, 100)` after
`ExcludeKnownPositives()` counts ranks among texts that are not known positives. A rule looks only at a candidate and at
nearer ones, never at farther ones, so the depth of the search does not change the result.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..array_types import Bool, Float, Int
from ..arrays.connected_components import component_of_each_edge
from ..errors import BadInput
from ..runtime.arguments import whole_number
from ..text.normalization import normalized


@dataclass(frozen=True, eq=False)
class KnownPositives:
    """Text ids of the N rows and M candidates; there are F distinct normalized texts in total."""

    anchors: Int[np.ndarray, " N"]
    positives: Int[np.ndarray, " N"]
    candidates: Int[np.ndarray, " M"]
    forms: tuple[str, ...]

    @classmethod
    def of(cls, anchors: Sequence[str], positives: Sequence[str], candidates: Iterable[str]) -> "KnownPositives":
        """Assign an id to each distinct normalized text of the rows and candidates."""
        number: dict[str, int] = {}
        rows, own, pool = (
            np.array([number.setdefault(normalized(text), len(number)) for text in column], np.int64)
            for column in (anchors, positives, candidates)
        )
        return cls(rows, own, pool, tuple(number))

    @cached_property
    def group(self) -> Int[np.ndarray, " F"]:
        """A group number for each normalized text; connections are transitive: a–b and b–c put a and c in one group."""
        alone = [(form, form) for form in range(len(self.forms))]
        pairs = zip(self.anchors.tolist(), self.positives.tolist(), strict=True)
        return component_of_each_edge([*alone, *pairs])[: len(alone)]

    def connected(self, rows: Int[np.ndarray, " Q"], candidates: Int[np.ndarray, "Q d"]) -> Bool[np.ndarray, "Q d"]:
        """Whether each candidate is the anchor itself or in its group."""
        return np.asarray(self.group[self.anchors[rows]][:, None] == self.group[self.candidates[candidates]])

    def paired(self, rows: Int[np.ndarray, " Q"], candidates: Int[np.ndarray, "Q d"]) -> Bool[np.ndarray, "Q d"]:
        """Whether each candidate is the anchor itself or is paired with it in any row, in either order."""
        anchor, candidate = self.anchors[rows][:, None], self.candidates[candidates]
        codes = anchor * len(self.forms) + candidate
        return np.asarray(np.isin(codes, self._pair_codes) | (anchor == candidate))

    @cached_property
    def _pair_codes(self) -> Int[np.ndarray, " P"]:
        a, p = self.anchors, self.positives
        return np.unique(np.concatenate([a * len(self.forms) + p, p * len(self.forms) + a]))


class RerankerFilter:
    """Scores anchors against candidates with rerankers, and caches the scores until `clear` is called."""

    def __init__(self, anchors: Sequence[str], positives: Sequence[str], candidates: Sequence[str]) -> None:
        self.anchors, self.positives, self.candidates = anchors, positives, candidates
        self._cache: dict[tuple[int, object, str, str], float] = {}

    def scores(
        self,
        reranker: Any,
        label: int | str | None,
        rows: Int[np.ndarray, " Q"],
        candidates: Int[np.ndarray, "Q d"],
        selected: Bool[np.ndarray, "Q d"],
    ) -> tuple[Float[np.ndarray, "Q d"], Float[np.ndarray, " Q"]]:
        """The scores of the selected candidates (NaN elsewhere), and of each row's own positive."""
        positions = np.nonzero(selected)
        pairs = [(self.anchors[rows[q]], self.candidates[candidates[q, i]]) for q, i in zip(*positions, strict=True)]
        own = [(self.anchors[row], self.positives[row]) for row in rows]
        key = (id(reranker), label)
        new = [pair for pair in dict.fromkeys((*pairs, *own)) if (*key, *pair) not in self._cache]
        found = np.asarray(reranker.score(new, label=label), np.float32) if new else np.empty(0, np.float32)
        if found.shape != (len(new),) or not np.isfinite(found).all():
            raise BadInput(f"the reranker's scores for {len(new)} pairs are {found}; expected a finite number for each")
        self._cache.update(((*key, *pair), float(score)) for pair, score in zip(new, found, strict=True))
        scores = np.full(candidates.shape, np.nan, np.float32)
        scores[positions] = [self._cache[(*key, *pair)] for pair in pairs]
        return scores, np.array([self._cache[(*key, *pair)] for pair in own], np.float32)

    def clear(self) -> None:
        self._cache.clear()


@dataclass(frozen=True, eq=False)
class CandidateBlock:
    """The d nearest candidates for each of Q rows, nearest first, and what is known about them."""

    rows: Int[np.ndarray, " Q"]
    candidates: Int[np.ndarray, "Q d"]
    scores: Float[np.ndarray, "Q d"]  # similarity to the anchor
    positive_scores: Float[np.ndarray, " Q"]  # similarity between the row's own positive and the anchor
    kept: Bool[np.ndarray, "Q d"]  # whether the earlier rules kept the candidate
    known: KnownPositives
    reranker_filter: RerankerFilter


class Rule(ABC):
    """Decides for each candidate whether it may be a negative."""

    @abstractmethod
    def keeps(self, block: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        """Which candidates to keep; the answer matters only for candidates that the earlier rules kept."""

    def ends(self, block: CandidateBlock) -> Bool[np.ndarray, " Q"]:
        """Whether every farther candidate in the row would be removed too, so that the search can stop."""
        return np.zeros(len(block.rows), bool)

    def __str__(self) -> str:
        """The rule as it would be written in code, showing the settings that differ from their defaults."""
        settings = [(f.name, getattr(self, f.name), f.default) for f in fields(self)]  # type: ignore[arg-type]
        shown = [
            value if isinstance(value, Rule) else f"{name}={value}"
            for name, value, default in settings
            if value != default and name != "reranker"
        ]
        return f"{type(self).__name__}({', '.join(map(str, shown))})"


@dataclass(frozen=True)
class ExcludeKnownPositives(Rule):
    """Removes the anchor and its positives in any row; if `transitive`, also texts linked to it by a chain of pairs.

    Texts are compared after normalization (`likewise.text.normalization.normalized`), so an anchor in several rows or
    spellings counts as one. If transitive, the pairs a–b and b–c imply that c is not a negative of a.
    """

    transitive: bool = True

    def keeps(self, block: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        is_positive = block.known.connected if self.transitive else block.known.paired
        return np.asarray(~is_positive(block.rows, block.candidates))


@dataclass(frozen=True)
class RankBetween(Rule):
    """Removes the `low` nearest candidates, which may be unlabelled positives, and all after the first `high`."""

    low: int = 0
    high: int | None = None

    def __post_init__(self) -> None:
        low, high = whole_number("low", self.low, 0), self.high
        if high is not None and whole_number("high", high) <= low:
            raise BadInput(f"{self} removes every candidate; expected low < high")

    def keeps(self, block: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        rank = block.kept.cumsum(1) - 1
        kept: Bool[np.ndarray, "Q d"] = (rank >= self.low) & (rank < (math.inf if self.high is None else self.high))
        return kept

    def ends(self, block: CandidateBlock) -> Bool[np.ndarray, " Q"]:
        return np.asarray(block.kept.sum(1) >= (math.inf if self.high is None else self.high))


@dataclass(frozen=True)
class BelowPositive(Rule):
    """Keeps only candidates clearly less similar to the anchor than its positive (Moreira et al. 2024, NV-Retriever).

    If the positive's score is s, a candidate must score below s − margin ("TopK-MarginPos") or below ratio · s
    ("TopK-PercPos", with 0.95 in the paper; the relative margin is 1 − ratio). If s is negative, the same fraction of
    |s| is subtracted: s − (1 − ratio) · |s|.
    """

    margin: float | None = field(default=None, kw_only=True)
    ratio: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if (self.margin is None) == (self.ratio is None):
            raise BadInput(f"{self}: expected either a margin or a ratio, not both")
        if self.margin is not None and not 0 <= self.margin < math.inf:
            raise BadInput(f"{self}: expected a finite margin, 0 or greater")
        if self.ratio is not None and not 0 < self.ratio <= 1:
            raise BadInput(f"{self}: expected a ratio above 0 and at most 1")

    def keeps(self, block: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        margin = self.margin if self.ratio is None else (1 - self.ratio) * np.abs(block.positive_scores)
        return block.scores < (block.positive_scores - margin)[:, None]


@dataclass(frozen=True)
class ScoreBetween(Rule):
    """Removes candidates that score below `low` or above `high`."""

    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low <= self.high:  # also rejects NaN
            raise BadInput(f"{self} removes every candidate; expected low ≤ high")

    def keeps(self, block: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        return (block.scores >= self.low) & (block.scores <= self.high)

    def ends(self, block: CandidateBlock) -> Bool[np.ndarray, " Q"]:
        return block.scores[:, -1] < self.low


@dataclass(frozen=True, eq=False)
class RerankerScoreBelow(Rule):
    """Applies a score rule to the scores of a reranker, which reads the anchor and the candidate together.

    >>> RerankerScoreBelow(reranker, ScoreBetween(high=0.3))  # doctest: +SKIP
    >>> RerankerScoreBelow(reranker, BelowPositive(margin=0.2))  # doctest: +SKIP

    The reranker (or any object with a `score` method like its own) scores each pair once, and only candidates kept by
    the earlier rules, so put this rule last. If the model has several labels, `label` chooses the one whose probability
    is used as the score.
    """

    reranker: Any = field(repr=False)
    rule: Rule
    label: int | str | None = None

    def keeps(self, block: CandidateBlock) -> Bool[np.ndarray, "Q d"]:
        scores, positive_scores = block.reranker_filter.scores(
            self.reranker, self.label, block.rows, block.candidates, block.kept
        )
        return self.rule.keeps(replace(block, scores=scores, positive_scores=positive_scores))
