"""A paper's table: its printed figures, and our systems to compare with its rows, each with its experiments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from likewise.data.datasets import check_dataset

MEAN = "avg"
"""The column that is the plain mean of a table's other columns."""
QUICK_ROWS = 500
"""Number of rows used of each test file with --quick: a random sample, the same for every system."""
BERT = "bert-base-uncased"
"""The backbone of most of the papers' rows."""


@dataclass(frozen=True)
class Measured:
    """One figure over `n` items, in its table's unit, with its 95 % interval if there is one."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None


@dataclass(frozen=True)
class PaperRow:
    """A row as the paper prints it: figures by column, and the spread over seeds printed after ±."""

    system: str
    values: Mapping[str, float]
    spread: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Effort:
    """How much to compute: with which local backbones and tuned models, and over how many seeds.

    With `quick`, models are measured on samples of the test data; with `quick_training`, training uses fewer rows, and
    only the first backbone is trained.
    """

    backbones: tuple[str, ...]
    models: tuple[str, ...]
    seeds: int = 3
    quick: bool = False
    quick_training: bool = False

    @property
    def trained_backbones(self) -> tuple[str, ...]:
        """The backbones that are trained."""
        return self.backbones[:1] if self.quick_training else self.backbones


@dataclass(frozen=True)
class Experiment:
    """One unit of work: a system's figures in certain columns for one seed; its result is a line of the ledger."""

    system: str  # the name of its row in the table
    backbone: str  # the model to measure or to start from
    columns: tuple[str, ...]
    settings: str  # a description for the page
    seed: int | None  # the training seed; None if nothing is random
    quick: bool  # whether less was computed than the table asks for
    identity: Callable[[], Mapping[str, Any]]  # everything the result depends on; may load the model
    compute: Callable[[Path], "ExperimentResult"]  # measures in the experiment's own folder


@dataclass(frozen=True)
class ExperimentResult:
    """An experiment's result: figures by column, the recipe's line about a trained model, and notes for the reader."""

    figures: Mapping[str, Measured]
    run: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


@runtime_checkable
class Method(Protocol):
    """How a system's figures are measured."""

    @property
    def data(self) -> Sequence[str]:
        """The files used for training."""

    def experiments(self, system: str, table: "PaperTable", effort: Effort) -> list[Experiment]:
        """The experiments to run, for the local models."""


@dataclass(frozen=True)
class System:
    """A row here: its name, how it is measured, the paper's row it is compared with, and how it differs from that."""

    name: str
    method: Method
    beside: str | None = None
    original: str | None = None  # that row's backbone, needed for comparable figures; None: any will do
    differs: str = ""  # why figures are not comparable, whatever the backbone
    claim: str = ""  # the claim that a figure supports if its whole interval is above 0


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper, and how it is measured here."""

    name: str
    title: str
    citation: str
    protocol: str
    columns: Mapping[str, str]  # keys and printed headings
    paper: tuple[PaperRow, ...]
    systems: tuple[System, ...]
    measures: Mapping[str, tuple[str, str | None]] = field(
        default_factory=dict
    )  # a column's task, and the name of its score
    recorded: Callable[[Mapping[str, Any]], str | None] = lambda _: None  # the row to compare a finished run with
    claims_on: tuple[str, ...] = ()  # recipes whose runs test the papers' claims
    claims: Mapping[str, str] = field(default_factory=dict)  # supported by one figure whose whole interval is above 0
    mean: bool = False  # whether the last column is the plain mean of the others
    unit: str = "scores × 100"

    def experiments(self, effort: Effort) -> list[Experiment]:
        """All experiments, row by row."""
        return [one for system in self.systems for one in system.method.experiments(system.name, self, effort)]

    def system(self, name: str) -> System:
        """The system with this name."""
        return next(one for one in self.systems if one.name == name)


def is_model(backbone: str, name: str) -> bool:
    """Whether a backbone, given by name or folder, is the model with this name on the hub."""
    return Path(backbone).name == name


def data_reasons(files: Sequence[str]) -> list[str]:
    """Why the data differ from the paper's: files that lack published rows, or that are different copies."""
    reasons = []
    for name in dict.fromkeys(files):
        check = check_dataset(name)
        if check.rows is not None and check.published and check.rows < check.published and check.state != "complete":
            reasons.append(f"{name} has {check.rows:,} of {check.published:,} rows")
        elif check.state in ("changed", "look-alike"):
            reasons.append(f"{name} is not the published copy")
    return reasons
