"""A table of a paper: what it prints, and the systems that stand beside its rows here, each with its experiments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from likewise.data.datasets import check_dataset

MEAN = "avg"
"""The column that is the plain mean of a table's others."""
QUICK_ROWS = 500
"""Rows of a file of test data with --quick: a random sample, the same for every system."""


@dataclass(frozen=True)
class Measured:
    """One figure in the unit of its table, with its 95 % interval where there is one, of `n` items."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None


@dataclass(frozen=True)
class PaperRow:
    """A row as the paper prints it: figures by column, and the spread over seeds that it prints after ±."""

    system: str
    values: Mapping[str, float]
    spread: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Effort:
    """How much is computed: with the local backbones and tuned models, over this many seeds.

    With `quick` models are measured on samples of the test data; with `quick_training` those that are trained learn
    from fewer rows, and only the first backbone is trained.
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
    """One piece of work: a system's figures in some columns, with one seed; its result is a line of the ledger."""

    system: str  # the name of its row
    backbone: str  # the model that it is, or that it starts from
    columns: tuple[str, ...]
    settings: str  # in words, for the page
    seed: int | None  # of training; None if nothing is random
    quick: bool  # whether less was computed than the table asks for
    seconds: float  # a guess, from which the time left is estimated
    identity: Callable[[], Mapping[str, Any]]  # what the result depends on; may load the model
    compute: Callable[[Path], "ExperimentResult"]  # measures, in a folder of its own


@dataclass(frozen=True)
class ExperimentResult:
    """What an experiment gave: figures by column, the recipe's line of a trained model, notes for the reader."""

    figures: Mapping[str, Measured]
    run: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


@runtime_checkable
class Method(Protocol):
    """How a system's figures are measured."""

    @property
    def data(self) -> Sequence[str]:
        """The files that are trained on."""

    def experiments(self, system: str, table: "PaperTable", effort: Effort) -> list[Experiment]:
        """The pieces of work, for the models that are local."""


@dataclass(frozen=True)
class System:
    """A row here: its name, how it is measured, the paper's row that it stands beside, and what sets it apart."""

    name: str
    method: Method
    beside: str | None = None
    original: str | None = None  # the backbone of that row; only with it are the figures comparable. None: with any
    differs: str = ""  # why they are not comparable whatever the backbone
    claim: str = ""  # what each of its figures bears out if it lies above 0 by its whole interval


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper, and how it is measured here."""

    name: str
    title: str
    citation: str
    protocol: str
    columns: Mapping[str, str]  # their keys, with the heads that are printed
    paper: tuple[PaperRow, ...]
    systems: tuple[System, ...]
    measures: Mapping[str, tuple[str, str | None]] = field(
        default_factory=dict
    )  # a column's task, and its score's name
    recorded: Callable[[Mapping[str, Any]], str | None] = lambda _: None  # the row that a finished run stands beside
    claims_on: tuple[str, ...] = ()  # recipes on whose runs the papers' claims are tested
    claims: Mapping[str, str] = field(default_factory=dict)  # that one figure above 0 by its whole interval bears out
    mean: bool = False  # whether a last column is the plain mean of the others
    unit: str = "scores × 100"

    def experiments(self, effort: Effort) -> list[Experiment]:
        """All pieces of work, row by row."""
        return [one for system in self.systems for one in system.method.experiments(system.name, self, effort)]

    def system(self, name: str) -> System:
        """The system of this name."""
        return next(one for one in self.systems if one.name == name)


def data_reasons(files: Sequence[str]) -> list[str]:
    """Why data are not the paper's: what each file lacks of the published rows, or that it is another one."""
    reasons = []
    for name in dict.fromkeys(files):
        check = check_dataset(name)
        if check.rows is not None and check.published and check.rows < check.published and check.state != "complete":
            reasons.append(f"{name} has {check.rows:,} of {check.published:,} rows")
        elif check.state in ("changed", "look-alike"):
            reasons.append(f"{name} is not the published copy")
    return reasons
