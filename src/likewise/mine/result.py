"""The result of mining: rows with their negatives, and a report on how many candidates each rule removed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..array_types import Bool, Float, Int
from ..files import write_table
from ..wording import counted, counted_of


@dataclass(frozen=True)
class RuleStats:
    """The effect of one rule."""

    rule: str
    removed: int  # candidates removed that had passed the earlier rules
    rows_short: int  # rows with at least k candidates before this rule, and fewer after it


@dataclass(frozen=True)
class MiningReport:
    """Counts from one run; a row is an anchor with one positive, and a candidate is counted once for each row."""

    rows: int
    anchors: int  # distinct anchors after normalization
    candidates: int  # distinct candidates after normalization
    corpus_texts: int  # texts from which the candidates were drawn
    k: int
    examined: int  # candidates examined, summed over rows
    rule_stats: tuple[RuleStats, ...]
    complete: int  # rows with k negatives
    partial: int  # rows with at least one but fewer than k
    empty: int  # rows without negatives
    filled: int  # negatives that were added despite the rules (missing="fill")
    dropped: int  # rows missing from the result
    largest_group: int  # texts in the largest group connected by pairs

    @property
    def kept(self) -> int:
        """The number of rows in the result."""
        return self.rows - self.dropped

    def __str__(self) -> str:
        rules = "; ".join(f"{stats.rule} removed {stats.removed:,}" for stats in self.rule_stats)
        rows = (
            f"{counted_of(self.complete, counted(self.rows, 'row'), 'has', 'have')} {counted(self.k, 'negative')}, "
            f"{counted(self.partial, 'has', 'have')} fewer, {self.empty:,} none"
        )
        return f"{rows}. Of {counted(self.examined, 'candidate')} examined, {rules}"


@dataclass(frozen=True, eq=False)
class MiningResult:
    """n rows with k negatives each, sorted by similarity to the anchor, nearest first."""

    anchors: Sequence[str]
    positives: Sequence[str]
    candidates: Sequence[str]
    indices: Int[np.ndarray, "n k"]  # positions of the negatives among the candidates
    scores: Float[np.ndarray, "n k"]  # similarity of each negative to its anchor
    positive_scores: Float[np.ndarray, " n"]
    filled: Bool[np.ndarray, "n k"]  # negatives that were added despite the rules (missing="fill")
    rows: Int[np.ndarray, " n"]  # indices into the input rows
    groups: Int[np.ndarray, " n"] | None  # groups of anchors connected by pairs; None if only direct pairs count
    report: MiningReport

    def __len__(self) -> int:
        return len(self.anchors)

    @property
    def negatives(self) -> list[list[str]]:
        """The texts of the negatives, k per row."""
        return [[self.candidates[i] for i in row] for row in self.indices.tolist()]

    def columns(self, *, scores: bool = True) -> dict[str, list[Any]]:
        """The columns anchor, positive and negative, or negative_1 … negative_k, followed by the group and the scores.

        `Contrastive` reads the texts and the group, and does not use a positive as a negative within its own group.
        """
        k = self.indices.shape[1]
        names = ["negative"] if k == 1 else [f"negative_{i + 1}" for i in range(k)]
        columns: dict[str, list[Any]] = {"anchor": list(self.anchors), "positive": list(self.positives)}
        for name, column in zip(names, self.indices.T.tolist(), strict=True):
            columns[name] = [self.candidates[i] for i in column]
        if self.groups is not None:
            columns["group"] = self.groups.tolist()
        if scores:
            columns["score_positive"] = self.positive_scores.tolist()
            columns |= {f"score_{name}": values for name, values in zip(names, self.scores.T.tolist(), strict=True)}
        return columns

    def triplets(self, *, scores: bool = True) -> dict[str, list[Any]]:
        """The columns anchor, positive and negative: n · k rows, with the rows of each anchor next to each other."""
        k = self.indices.shape[1]
        pairs = {"anchor": self.anchors, "positive": self.positives}
        columns = {name: [text for text in texts for _ in range(k)] for name, texts in pairs.items()}
        columns["negative"] = [self.candidates[i] for i in self.indices.ravel().tolist()]
        if self.groups is not None:
            columns["group"] = self.groups.repeat(k).tolist()
        if scores:
            columns["score_positive"] = self.positive_scores.repeat(k).tolist()
            columns["score_negative"] = self.scores.ravel().tolist()
        return columns

    def write(self, path: Path, *, triplets: bool = False, scores: bool = True) -> None:
        """Write the result to a .parquet, .csv, .tsv or .jsonl file; if writing fails, no partial file is left."""
        write_table(path, (self.triplets if triplets else self.columns)(scores=scores))
