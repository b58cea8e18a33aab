"""What a task is: a function from `encode` to scores. It never sees a model, and asks for its data by name.

    result = TASKS["stsb"].run(embedder.encode, datasets.read, Settings())

Each score carries its evidence, item by item, from which intervals are drawn and two models are compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from ..errors import BadInput
from .statistics.significance import Interval

Encode = Callable[[Sequence[str]], np.ndarray]
"""N texts to vectors (N, E), in the order given."""
TaskColumns = Mapping[str, Sequence[Any]]
Read = Callable[[str], TaskColumns]
"""The name of a file of a data set ("stsb/test") to its columns."""
Statistic = Literal["mean", "pearson", "spearman", "average_precision"]
Mode = Literal["fast", "faithful"]


@dataclass(frozen=True)
class EvaluationSettings:
    """What a run of tasks has in common."""

    mode: Mode = "fast"  # of trained classifiers: all folds solved together, or SentEval's own optimiser step by step
    seed: int = 1111  # SentEval's
    hidden: int = 0  # units of the classifiers' hidden layer: 0 in the literature, 50 in SBERT-WK's
    lowercase: bool = False  # SentEval lower-cases STS texts; mteb and SBERT do not


@dataclass(frozen=True)
class Evidence:
    """What a score was computed from: a number of the model for each item, and the truth where there is one.

    The score is `statistic(said, gold)`; for "mean" it is the mean of `said` (1 or 0 for right or wrong, the nDCG of
    a query …). With `groups` it is the plain mean of that statistic over groups. Two models are compared on equal
    `gold` and `groups`.
    """

    said: Float[np.ndarray, " n"]
    gold: Float[np.ndarray, " n"] | None = None
    groups: Int[np.ndarray, " n"] | None = None
    statistic: Statistic = "mean"


@dataclass(frozen=True)
class Score:
    """One figure of a task, as a share (0.8203, printed as 82.03).

    `name` says what was measured, parts parted by slashes: "spearman/cosine/all", "accuracy", "ndcg@10".
    """

    name: str
    value: float
    n: int
    evidence: Evidence | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class Result:
    """What a task found: its scores, the headline first; the protocol in one line; and what one should know."""

    task: str
    scores: tuple[Score, ...]
    protocol: str
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> Score:
        return self.scores[0]

    def __getitem__(self, name: str) -> float:
        return next(score.value for score in self.scores if score.name == name)

    def noted(self, *notes: str) -> "Result":
        return replace(self, notes=(*self.notes, *notes))


TaskRun = Callable[[Encode, Read, EvaluationSettings], Result]


@dataclass(frozen=True)
class Task:
    """A task by name: the suite it belongs to, the files it reads, what it measures, and the function that does it."""

    name: str
    suite: str
    data: tuple[str, ...]
    summary: str
    run: TaskRun = field(repr=False)
    published: Mapping[str, float] = field(default_factory=dict)  # the papers' headline × 100, by model


@dataclass(frozen=True)
class TaskVectors:
    """Vectors of distinct texts, looked up by text; what was wrong with them is counted, never silent."""

    rows: Mapping[str, int]
    values: Float[np.ndarray, "N E"]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, encode: Encode, *columns: Sequence[str]) -> "TaskVectors":
        """Every distinct text of the columns, encoded once.

        Raises:
            BadInput: `encode` gave another number of rows, or no table of numbers.
        """
        rows = {text: i for i, text in enumerate(dict.fromkeys(text for column in columns for text in column))}
        values = as_rows(encode(list(rows)), len(rows))
        broken = ~np.isfinite(values).all(axis=1)
        if not broken.any():
            return cls(rows, values, ())
        note = f"{int(broken.sum()):,} of {len(rows):,} vectors were not finite and were counted as zeros"
        return cls(rows, np.where(broken[:, None], 0, values), (note,))

    def __getitem__(self, texts: Sequence[str]) -> Float[np.ndarray, "n E"]:
        return np.asarray(self.values[[self.rows[text] for text in texts]])


def as_rows(found: Any, count: int) -> Float[np.ndarray, "N E"]:
    """What an `encode` gave for `count` texts, as floating-point rows.

    Raises:
        BadInput: it is another number of rows, or no table of numbers.
    """
    rows: np.ndarray = np.asarray(found)
    if rows.ndim != 2 or len(rows) != count or rows.dtype.kind not in "fiu":
        raise BadInput(
            f"the model was given {count:,} texts and returned {rows.dtype} of shape {rows.shape}; wanted "
            f"numbers of shape ({count}, E), a row for each text in the order given"
        )
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float32)
