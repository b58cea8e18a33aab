"""Pairs of sentences and the number people gave each: read, checked, and correlated with what a model says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from ...arrays.correlation import Numbers, pearson, spearman
from ...errors import BadInput
from ..task import Encode, EvaluationSettings, Evidence, Read, Score, TaskColumns, TaskVectors

Correlation = Literal["spearman", "pearson"]
CORRELATIONS: dict[Correlation, Callable[[Numbers, Numbers], float]] = {"spearman": spearman, "pearson": pearson}

_LARGEST = 1e100  # sums of squares of what is larger overflow


@dataclass(frozen=True)
class RatedPairs:
    """N pairs and their gold, as numbers and as it was written; `group` numbers the part each is from, of `parts`."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: Float[np.ndarray, " N"]
    group: Int[np.ndarray, " N"]
    parts: tuple[str, ...]
    written: tuple[Any, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.gold)

    def encoded(self, encode: Encode) -> tuple[Float[np.ndarray, "N E"], Float[np.ndarray, "N E"], tuple[str, ...]]:
        """Both sides in fp64, in which no similarity of fp32 vectors overflows; and what was wrong with them."""
        vectors = TaskVectors.of(encode, self.first, self.second)
        return vectors[self.first].astype(np.float64), vectors[self.second].astype(np.float64), vectors.notes


def read_pairs(
    read: Read,
    name: str,
    settings: EvaluationSettings,
    *,
    gold: str = "score",
    part: str | None = None,
    degrees: Mapping[str, float] | None = None,
) -> RatedPairs:
    """The pairs of the file `name`; those without a gold score are left out, and counted in the notes.

    Args:
        gold: the column of what people said; `degrees` gives its words a number.
        part: the column that says which subset or topic a pair is from.

    Raises:
        BadInput: a column is missing, no pair has a score, or a score is no number.
    """
    columns = read(name)
    first, second, said = (pair_column(columns, key, name) for key in ("sentence1", "sentence2", gold))
    parts = [str(value) for value in pair_column(columns, part, name)] if part else ["all"] * len(said)
    numbers = np.array([_number(value, degrees, name) for value in said], dtype=np.float64)
    kept = np.flatnonzero(np.isfinite(numbers)).tolist()
    if not kept:
        raise BadInput(f"{name} has {len(said):,} pairs and none of them has a {gold}")
    names = list(dict.fromkeys(parts[i] for i in kept))
    fold = str.lower if settings.lowercase else str
    lost = len(said) - len(kept)
    return RatedPairs(
        tuple(fold(first[i]) for i in kept),
        tuple(fold(second[i]) for i in kept),
        numbers[kept],
        np.array([names.index(parts[i]) for i in kept]),
        tuple(names),
        tuple(said[i] for i in kept),
        (f"{lost:,} pairs of {name} have no {gold} and were left out",) if lost else (),
    )


def pair_column(columns: TaskColumns, key: str, name: str) -> Sequence[Any]:
    """A column of a file by its name.

    Raises:
        BadInput: it is not there; the message says which are.
    """
    if key not in columns:
        raise BadInput(f"{name} has the columns {', '.join(columns)}; wanted one called {key}")
    return columns[key]


def pair_features(u: Float[np.ndarray, "N E"], v: Float[np.ndarray, "N E"]) -> Float[np.ndarray, "N 2*E"]:
    """[|u − v|, u ∗ v] in fp32, as SentEval gives them to classifiers of pairs."""
    u, v = u.astype(np.float32), v.astype(np.float32)
    with np.errstate(over="ignore"):
        return np.hstack([np.abs(u - v), u * v])


def text_casing(settings: EvaluationSettings) -> str:
    """What was done to the texts, in words."""
    return "lower-cased text" if settings.lowercase else "raw text"


def correlation_score(
    name: str, said: Numbers, gold: Numbers, statistic: Correlation, groups: Int[np.ndarray, " N"] | None = None
) -> Score:
    """A correlation, or the plain mean of those of groups, with its evidence; NaN without it where there is none."""
    found = correlations_by_group(said, gold, statistic, np.zeros(len(gold), int) if groups is None else groups)
    value = float(np.mean(found)) if len(found) else float("nan")
    evidence = None if np.isnan(value) else Evidence(said, gold, groups, statistic)
    return Score(name, value, len(gold), evidence)


def correlations_by_group(
    said: Numbers, gold: Numbers, statistic: Correlation, groups: Int[np.ndarray, " N"]
) -> Float[np.ndarray, " G"]:
    """The correlation within each group, in the order of their numbers; NaN where there is none."""
    correlate = CORRELATIONS[statistic]
    rows = [groups == group for group in np.unique(groups)]
    return np.array(
        [np.nan if undefined_reason(said[row], gold[row]) else correlate(said[row], gold[row]) for row in rows]
    )


def undefined_reason(said: Numbers, gold: Numbers) -> str | None:
    """Why two rows have no correlation, or None where they have one.

    Equality is looked at, not the spread: that of 0.1, 0.1, 0.1 about their rounded mean need not be zero.
    """
    if len(gold) < 2:
        return "there are fewer than two pairs"
    if not (np.abs(said) < _LARGEST).all():
        return f"a similarity is not finite, or larger than {_LARGEST:.0e}"
    if _constant(said):
        return "the model gives every pair the same number"
    if _constant(gold):
        return "people gave every pair the same number"
    return None


def undefined_notes(name: str, said: Numbers, pairs: RatedPairs, broken: bool = False) -> Iterable[str]:
    """Notes on every correlation of `name` that does not exist, over all and in the parts.

    `broken` says that no pair has two finite vectors, so that the model gives no number at all.
    """
    reason = "no pair has two vectors that are finite" if broken else undefined_reason(said, pairs.gold)
    if reason:
        yield f"{name} has no correlation: {reason}"
    for number, part in enumerate(pairs.parts if len(pairs.parts) > 1 and not reason else ()):
        rows: Bool[np.ndarray, " N"] = pairs.group == number
        within = undefined_reason(said[rows], pairs.gold[rows])
        if within:
            yield f"{name} has no correlation in {part}, so no mean either: {within}"


def no_finite_pair(a: Float[np.ndarray, "N E"], b: Float[np.ndarray, "N E"], notes: Sequence[str]) -> bool:
    """Whether every pair has a vector that was not finite: zeros stand for those now, of which the notes tell."""
    return bool(notes) and not (a.any(1) & b.any(1)).any()


def _constant(x: Numbers) -> bool:
    return bool((x == x[0]).all())


def _number(value: Any, degrees: Mapping[str, float] | None, name: str) -> float:
    if value is None or value == "":
        return float("nan")
    if degrees is not None:
        if value not in degrees:
            raise BadInput(f"{name} has the label {value!r}; those known are {', '.join(degrees)}")
        return degrees[value]
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadInput(f"{name} has the score {value!r}, which is no number") from None
