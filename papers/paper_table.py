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
    """One piece of work: a system's figures in some columns, with one seed; its result is a line of the ledger.

    Attributes:
        system: the name of its row.
        backbone: the model that it is, or that it starts from.
        columns: of the table.
        settings: in words, for the page.
        seed: of training; None where nothing is random.
        quick: whether less was computed than the table asks for.
        seconds: a guess, from which the time left is estimated.
        identity: what the result depends on: fingerprint, digests of the data, settings. May load the model.
        compute: measures, in a folder of its own.
    """

    system: str
    backbone: str
    columns: tuple[str, ...]
    settings: str
    seed: int | None
    quick: bool
    seconds: float
    identity: Callable[[], Mapping[str, Any]]
    compute: Callable[[Path], "ExperimentResult"]


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
    """A row here: its name, how it is measured, the paper's row that it stands beside, and what sets it apart.

    Attributes:
        beside: the paper's row; None if it has none.
        original: the backbone of that row; only with it are the figures comparable. None: they are with any.
        differs: why they are not comparable whatever the backbone.
        claim: what each of its figures bears out if it lies above 0 by its whole interval.
    """

    name: str
    method: Method
    beside: str | None = None
    original: str | None = None
    differs: str = ""
    claim: str = ""


def no_row(run: Mapping[str, Any]) -> None:
    """No finished training run is a row."""


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper, and how it is measured here.

    Attributes:
        columns: their keys, with the heads that are printed.
        measures: a column's task and the name of its score, the headline if None; empty where no task measures.
        recorded: the paper's row that a finished training run stands beside; None for a run of no row here.
        claims_on: recipes on whose runs the papers' claims are tested.
        claims: columns that decide a claim by themselves: a figure above 0 by its whole interval bears it out.
        mean: whether a last column is the plain mean of the others.
    """

    name: str
    title: str
    citation: str
    protocol: str
    columns: Mapping[str, str]
    paper: tuple[PaperRow, ...]
    systems: tuple[System, ...]
    measures: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    recorded: Callable[[Mapping[str, Any]], str | None] = no_row
    claims_on: tuple[str, ...] = ()
    claims: Mapping[str, str] = field(default_factory=dict)
    mean: bool = False
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
