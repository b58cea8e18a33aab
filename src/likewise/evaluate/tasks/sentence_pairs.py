"""Sentence pairs with gold scores: reading, checking, and correlating them with a model's similarities."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ...array_types import Bool, Float, Int
from ...arrays.correlation import Numbers, pearson, spearman
from ...arrays.similarity import PAIRWISE
from ...data.columns import DatasetColumns
from ...errors import BadInput
from ...text.normalization import normalized
from ...wording import counted
from ..task import Encode, EvaluationSettings, Evidence, ReadDataset, Score, TaskVectors

Correlation = Literal["spearman", "pearson"]
Vectors = Float[np.ndarray, "N E"]
CORRELATIONS: dict[Correlation, Callable[[Numbers, Numbers], float]] = {"spearman": spearman, "pearson": pearson}

_LARGEST = 1e100  # sums of squares of larger numbers overflow


@dataclass(frozen=True)
class RatedPairs:
    """N pairs with gold scores, as numbers and as written in the file; `group` indexes each pair's part in `parts`."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: Float[np.ndarray, " N"]
    group: Int[np.ndarray, " N"]
    parts: tuple[str, ...]
    written: tuple[Any, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.gold)

    def encoded(self, encode: Encode) -> tuple[Vectors, Vectors, tuple[str, ...]]:
        """The vectors of both sides, in fp64 so that similarities of fp32 vectors don't overflow, and notes on them."""
        vectors = TaskVectors.of(encode, self.first, self.second)
        return vectors[self.first].astype(np.float64), vectors[self.second].astype(np.float64), vectors.notes

    def similarities(self, encode: Encode, kinds: Iterable[str]) -> tuple[dict[str, Numbers], tuple[str, ...]]:
        """The similarity of every pair by each measure, and notes on pairs, vectors and undefined correlations."""
        a, b, notes = self.encoded(encode)
        with np.errstate(over="ignore", invalid="ignore"):  # the correlation is then undefined, and a note says so
            found = {kind: PAIRWISE[kind](a, b) for kind in kinds}
        not_finite = bool(notes) and not (a.any(1) & b.any(1)).any()  # NaN and infinity were replaced by zeros
        undefined: dict[str, list[str]] = {}
        for kind, of_kind in found.items():
            for note in undefined_notes(of_kind, self, not_finite):
                undefined.setdefault(note, []).append(kind)
        return found, (*self.notes, *notes, *(f"{', '.join(of)}: {note}" for note, of in undefined.items()))

    @cached_property
    def items(self) -> Int[np.ndarray, " N"]:
        """A number that identifies each pair by its texts, ignoring their order, case and punctuation."""
        sides = ([normalized(text, punctuation=False) for text in side] for side in (self.first, self.second))
        lines = (" | ".join(sorted(pair)).encode("utf-8", "surrogatepass") for pair in zip(*sides, strict=True))
        return np.array([int.from_bytes(hashlib.sha256(line).digest()[:8]) >> 1 for line in lines], np.int64)


def read_pairs(
    read: ReadDataset,
    name: str,
    settings: EvaluationSettings,
    *,
    gold: str = "score",
    part: str | None = None,
    degrees: Mapping[str, float] | None = None,
) -> RatedPairs:
    """The pairs in the file `name`; pairs without a gold score are left out, and counted in the notes.

    `gold` is the column of ratings; `degrees` maps its labels to numbers; `part` is the column of subsets or topics.
    """
    columns = read(name)
    first, second, ratings = (pair_column(columns, key, name) for key in ("sentence1", "sentence2", gold))
    parts = [str(value) for value in pair_column(columns, part, name)] if part else ["all"] * len(ratings)
    numbers = np.array([_number(value, degrees, name) for value in ratings], dtype=np.float64)
    rated = np.flatnonzero(np.isfinite(numbers)).tolist()
    if not rated:
        raise BadInput(f"{name} has {len(ratings):,} pairs, none of which has a {gold}")
    names = list(dict.fromkeys(parts[i] for i in rated))
    singular, plural = f"pair of {name} has no {gold} and was", f"pairs of {name} have no {gold} and were"
    missing = len(ratings) - len(rated)
    a, b = (tuple(settings.cased(side[i] for i in rated)) for side in (first, second))
    group, written = np.array([names.index(parts[i]) for i in rated]), tuple(ratings[i] for i in rated)
    notes = (f"{counted(missing, singular, plural)} left out",) if missing else ()
    return RatedPairs(a, b, numbers[rated], group, tuple(names), written, notes)


def pair_column(columns: DatasetColumns, key: str, name: str) -> Sequence[Any]:
    """A column of a file, by name; if it is missing, the error lists the columns."""
    if key not in columns:
        raise BadInput(f"{name} has the columns {', '.join(columns)}; expected one named {key}")
    return columns[key]


def pair_features(u: Vectors, v: Vectors) -> Float[np.ndarray, "N 2*E"]:
    """[|u − v|, u ∗ v] in fp32: the features that SentEval uses for a pair."""
    u, v = u.astype(np.float32), v.astype(np.float32)
    with np.errstate(over="ignore"):
        return np.hstack([np.abs(u - v), u * v])


def correlation_score(
    name: str,
    predicted: Numbers,
    gold: Numbers,
    statistic: Correlation,
    groups: Int[np.ndarray, " N"] | None = None,
    items: Int[np.ndarray, " N"] | None = None,
) -> Score:
    """A correlation, or its mean over groups, with evidence; NaN without evidence if undefined."""
    members = np.zeros(len(gold), int) if groups is None else groups
    correlations = correlations_by_group(predicted, gold, statistic, members)
    value = float(np.mean(correlations)) if len(correlations) else float("nan")
    evidence = None if np.isnan(value) else Evidence(predicted, gold, groups, statistic, items)
    return Score(name, value, len(gold), evidence)


def correlations_by_group(
    predicted: Numbers, gold: Numbers, statistic: Correlation, groups: Int[np.ndarray, " N"]
) -> Float[np.ndarray, " G"]:
    """The correlation within each group, ordered by group number; NaN if it is undefined."""
    correlate = CORRELATIONS[statistic]
    within = [(predicted[groups == group], gold[groups == group]) for group in np.unique(groups)]
    return np.array([np.nan if undefined_reason(*rows) else correlate(*rows) for rows in within])


def undefined_reason(predicted: Numbers, gold: Numbers) -> str | None:
    """Why the correlation between two sequences is undefined, or None if it is defined.

    Values are tested for equality, because the computed variance of 0.1, 0.1, 0.1 may not be exactly zero.
    """
    if len(gold) < 2:
        return "there are fewer than two pairs"
    if not (np.abs(predicted) < _LARGEST).all():
        return f"a similarity is NaN, infinite, or larger than {_LARGEST:.0e}"
    if predicted.min() == predicted.max():
        return "the model gives every pair the same number"
    if gold.min() == gold.max():
        return "people gave every pair the same score"
    return None


def undefined_notes(predicted: Numbers, pairs: RatedPairs, not_finite: bool = False) -> Iterable[str]:
    """Notes on each undefined correlation, over all pairs and within parts.

    `not_finite`: no pair has two finite vectors, so there are no similarities at all.
    """
    reason = "no pair has two finite vectors" if not_finite else undefined_reason(predicted, pairs.gold)
    if reason:
        yield f"the correlation is undefined: {reason}"
    for number, part in enumerate(() if reason else pairs.parts):
        rows: Bool[np.ndarray, " N"] = pairs.group == number
        if within := undefined_reason(predicted[rows], pairs.gold[rows]):
            yield f"the correlation is undefined in {part}, and so is the mean: {within}"


def _number(value: Any, degrees: Mapping[str, float] | None, name: str) -> float:
    if value is None or value == "":
        return float("nan")
    if degrees is not None:
        if value not in degrees:
            raise BadInput(f"{name} has the label {value!r}; expected one of {', '.join(degrees)}")
        return degrees[value]
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadInput(f"{name} has the score {value!r}, which is not a number") from None
