"""The definition of a task: a function from `encode` to scores. It never sees a model, and reads its data by name.

    result = TASKS["stsb"].run(embedder.encode, read_dataset, EvaluationSettings())

Each score carries its evidence (one value per item), from which intervals and comparisons are computed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ..array_types import Float, Int
from ..data.columns import DatasetColumns
from ..errors import BadInput
from ..runtime.arguments import whole_number
from ..wording import counted, counted_of
from .statistics.significance import RESAMPLES, Interval

Encode = Callable[[Sequence[str]], np.ndarray]
"""Converts N texts to vectors (N, E), in the given order."""
Role = Literal["query", "document"]
ReadDataset = Callable[[str], DatasetColumns]
"""Returns the columns of a data set file, given its name ("stsb/test")."""
Statistic = Literal["mean", "pearson", "spearman", "average_precision"]
Mode = Literal["fast", "faithful"]


@dataclass(frozen=True)
class EvaluationSettings:
    """Settings shared by all tasks in an evaluation."""

    mode: Mode = "fast"  # how classifiers are trained: many folds in a batch, or one by one in torch as in SentEval
    seed: int = 1111  # for folds and classifiers; SentEval's default
    hidden: int = 0  # hidden units in classifiers: 0 in the literature, 50 in SBERT-WK
    lowercase: bool = False  # SentEval lower-cases STS texts; mteb and SBERT do not
    resamples: int = RESAMPLES  # bootstrap resamples for the headline's interval; other scores use at most 1,000

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int) or not 0 <= self.seed < 1 << 32:
            raise BadInput(f"the seed is {self.seed!r}; expected an integer from 0 to {(1 << 32) - 1}")
        whole_number("resamples", self.resamples)

    def cased(self, texts: Iterable[str]) -> list[str]:
        """The texts to encode, lower-cased if `lowercase` is set."""
        return [text.lower() if self.lowercase else text for text in texts]

    @property
    def casing(self) -> str:
        return "lower-cased text" if self.lowercase else "raw text"


@dataclass(frozen=True)
class Evidence:
    """The numbers behind a score: the model's value for each item, and the gold value if there is one.

    The score is `statistic(values, gold)`; for "mean", it is the mean of `values` (1 or 0 for right or wrong, the nDCG
    of a query …). With `groups`, it is the unweighted mean of that statistic over groups. Two models can be compared if
    their `gold` and `groups` are equal. `items` identifies items by number; an item has the same number in every task.
    """

    values: Float[np.ndarray, " n"]
    gold: Float[np.ndarray, " n"] | None = None
    groups: Int[np.ndarray, " n"] | None = None
    statistic: Statistic = "mean"
    items: Int[np.ndarray, " n"] | None = None


@dataclass(frozen=True)
class Score:
    """One score on a task, as a fraction of 1 (0.8203, printed as 82.03).

    `name` describes the measurement in parts separated by slashes: "spearman/cosine/all", "accuracy", "ndcg@10".
    """

    name: str
    value: float
    n: int
    evidence: Evidence | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class Result:
    """The result of a task: its scores (the headline first), its protocol in one line, and notes for the reader."""

    task: str
    scores: tuple[Score, ...]
    protocol: str
    notes: tuple[str, ...] = ()
    rankings: Any = field(default=None, repr=False, compare=False)
    """The `Rankings` behind the scores, on a collection."""

    @property
    def headline(self) -> Score:
        """The task's main score."""
        return self.scores[0]

    def __getitem__(self, name: str) -> float:
        return next(score.value for score in self.scores if score.name == name)

    def with_notes(self, *notes: str) -> "Result":
        return replace(self, notes=(*self.notes, *notes))


TaskRun = Callable[[Encode, ReadDataset, EvaluationSettings], Result]


@dataclass(frozen=True)
class Task:
    """A named task: its suite, the files it reads, what it measures, and the function that runs it."""

    name: str
    suite: str
    data: tuple[str, ...]
    summary: str
    run: TaskRun = field(repr=False)
    rank: Callable[[Any, Mapping[str, Any]], Result] | None = field(default=None, repr=False)
    """For a collection: computes the result of a `Ranker`, given the `Rankings` of earlier models by name."""


@dataclass(frozen=True)
class TaskVectors:
    """The vectors of distinct texts, looked up by text; NaN and infinite vectors are counted in the notes."""

    rows: Mapping[str, int]
    values: Float[np.ndarray, "N E"]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, encode: Encode, *columns: Sequence[str]) -> "TaskVectors":
        """Encode every distinct text in the columns once."""
        rows = {text: i for i, text in enumerate(dict.fromkeys(text for column in columns for text in column))}
        values = as_vectors(encode(list(rows)), len(rows))
        not_finite = ~np.isfinite(values).all(axis=1)
        if not not_finite.any():
            return cls(rows, values, ())
        singular, plural = (f"{was} not finite and {was} replaced by zeros" for was in ("was", "were"))
        note = counted_of(int(not_finite.sum()), counted(len(rows), "vector"), singular, plural)
        return cls(rows, np.where(not_finite[:, None], 0, values), (note,))

    def __getitem__(self, texts: Sequence[str]) -> Float[np.ndarray, "n E"]:
        return np.asarray(self.values[[self.rows[text] for text in texts]])


@dataclass(frozen=True)
class RoleEncode:
    """A model's `encode`, and its variants for queries and documents, which may use their own prompts."""

    encode: Encode
    in_role: Callable[[Role], Encode]

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return self.encode(texts)


def role_vectors(encode: Encode, queries: Sequence[str], documents: Sequence[str]) -> tuple[TaskVectors, TaskVectors]:
    """The vectors of queries and of documents, each encoded with the model's prompt or submodel for that role."""
    if isinstance(encode, RoleEncode):
        return TaskVectors.of(encode.in_role("query"), queries), TaskVectors.of(encode.in_role("document"), documents)
    both = TaskVectors.of(encode, queries, documents)  # in one request, because a model may be fitted on it
    return both, both


def as_vectors(encoded: Any, count: int) -> Float[np.ndarray, "N E"]:
    """The output of `encode` for `count` texts as floating-point rows; raises if its shape or type is wrong."""
    rows: np.ndarray = np.asarray(encoded)
    if rows.ndim != 2 or len(rows) != count or rows.size < count or rows.dtype.kind not in "fiu":
        raise BadInput(
            f"the model was given {count:,} texts but returned a {rows.dtype} array of shape {rows.shape}; expected "
            f"numbers of shape ({count}, E), one row per text, in the given order"
        )
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float32)
