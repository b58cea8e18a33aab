"""What mining found: rows with their negatives, and a report of which rule took how many."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ..files import write_table


@dataclass(frozen=True)
class RuleStats:
    """What one rule did."""

    rule: str
    taken: int  # candidates, of those that the rules before had left
    short: int  # rows that had k or more candidates before it, and fewer after


@dataclass(frozen=True)
class MiningReport:
    """Counts of one mining; a row is an anchor with one positive, and a candidate is counted for each row."""

    rows: int
    anchors: int  # different ones, in plain form
    candidates: int  # different ones, in plain form
    given: int  # texts that candidates were taken from
    k: int
    looked_at: int  # candidates, of all rows
    took: tuple[RuleStats, ...]
    full: int  # rows that found k negatives
    short: int  # found some, fewer than k
    none: int  # found none
    filled: int  # negatives that were found by weaker means
    dropped: int  # rows that are not in the result
    largest: int  # texts of the largest group that declared pairs join

    @property
    def kept(self) -> int:
        return self.rows - self.dropped

    def __str__(self) -> str:
        rules = "; ".join(f"{took.rule} took {took.taken:,}" for took in self.took)
        rows = f"{self.full:,} of {self.rows:,} rows found {self.k} negatives, {self.short:,} fewer, {self.none:,} none"
        return f"{rows}. Of {self.looked_at:,} candidates looked at, {rules}"


@dataclass(frozen=True, eq=False)
class MiningResult:
    """n rows with k negatives each, the nearest to the anchor first."""

    anchors: Sequence[str]
    positives: Sequence[str]
    candidates: Sequence[str]
    indices: Int[np.ndarray, "n k"]  # of the negatives among the candidates
    scores: Float[np.ndarray, "n k"]  # how similar they are to the anchor
    positive_scores: Float[np.ndarray, " n"]
    filled: Bool[np.ndarray, "n k"]  # those that the rules had taken (missing="fill")
    rows: Int[np.ndarray, " n"]  # which of the rows that were given
    groups: Int[np.ndarray, " n"] | None  # of anchors that declared pairs join; None where only pairs count
    report: MiningReport

    def __len__(self) -> int:
        return len(self.anchors)

    @property
    def negatives(self) -> list[list[str]]:
        """The texts, k a row."""
        return [[self.candidates[i] for i in row] for row in self.indices.tolist()]

    def columns(self, *, scores: bool = True) -> dict[str, list[Any]]:
        """anchor, positive and negative, or negative_1 … negative_k; then the group, and the scores.

        `Contrastive` reads the texts, and the group, so that no positive of a group is a wrong answer within it.
        """
        k = self.indices.shape[1]
        names = ["negative"] if k == 1 else [f"negative_{i + 1}" for i in range(k)]
        found: dict[str, list[Any]] = {"anchor": list(self.anchors), "positive": list(self.positives)}
        for name, column in zip(names, self.indices.T.tolist(), strict=True):
            found[name] = [self.candidates[i] for i in column]
        if self.groups is not None:
            found["group"] = self.groups.tolist()
        if scores:
            found["score_positive"] = self.positive_scores.tolist()
            found |= {f"score_{name}": values for name, values in zip(names, self.scores.T.tolist(), strict=True)}
        return found

    def triplets(self, *, scores: bool = True) -> dict[str, list[Any]]:
        """anchor, positive, negative: n · k rows, those of one anchor together."""
        k = self.indices.shape[1]
        once = {"anchor": self.anchors, "positive": self.positives}
        found = {name: [text for text in texts for _ in range(k)] for name, texts in once.items()}
        found["negative"] = [self.candidates[i] for i in self.indices.ravel().tolist()]
        if self.groups is not None:
            found["group"] = self.groups.repeat(k).tolist()
        if scores:
            found["score_positive"] = self.positive_scores.repeat(k).tolist()
            found["score_negative"] = self.scores.ravel().tolist()
        return found

    def write(self, path: Path, *, triplets: bool = False, scores: bool = True) -> None:
        """Into a .parquet, .csv, .tsv or .jsonl, whole or not at all."""
        write_table(path, (self.triplets if triplets else self.columns)(scores=scores))
