"""Measures tables: runs each experiment once, stores its line when finished, and reports failures and the time left."""

import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from likewise.errors import LikewiseError
from likewise.runtime.progress import format_duration

from .ledger import Entry, Ledger, experiment_key
from .paper_table import Effort, Experiment, PaperTable

EXPERIMENTS = "experiments"
"""The output's subfolder for unfinished experiments."""
NO_MODEL = "no local model fits this row; choose one with --model NAME (likewise model list shows them)"


@dataclass
class RunProgress:
    """Progress of a run. The time left is the sum of estimates, scaled by actual over estimated time so far."""

    total: int
    expected: float
    done: int = 0
    spent: float = 0.0
    guessed: float = 0.0
    current: str = ""

    @property
    def seconds_left(self) -> float | None:
        """The estimated time left; None until one experiment has been computed."""
        return self.spent / self.guessed * self.expected if self.guessed else None

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f" · about {format_duration(self.seconds_left)} left"
        return f"{self.current} ({min(self.done + 1, self.total)} of {self.total}){left}"


@dataclass
class TablesRun:
    """The outcome of a run: each table's experiments with their ledger lines, and why others are missing."""

    finished: dict[str, list[tuple[Experiment, Entry]]] = field(default_factory=dict)
    missing: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    computed: int = 0

    def miss(self, table: str, experiment: Experiment, error: Exception) -> None:
        """Record why an experiment could not be computed; each reason is recorded once per row."""
        missing = (experiment.system, experiment.backbone, str(error))
        if missing not in self.missing.setdefault(table, []):
            self.missing[table].append(missing)


def run_tables(
    tables: Sequence[PaperTable], effort: Effort, folder: Path, *, callback: Callable[[object], None] | None = None
) -> TablesRun:
    """Compute every experiment that the folder's ledger lacks: untrained models first, then seed by seed.

    An experiment that cannot be computed here (a missing package, model or data set) is recorded as missing.
    """
    ledger, run = Ledger(folder), TablesRun()
    planned = [(table.name, one) for table in tables for one in table.experiments(effort)]
    for table in tables:
        planned_systems = {one.system for one in table.experiments(effort)}
        absent = [(one.name, "–", NO_MODEL) for one in table.systems if one.name not in planned_systems]
        run.missing |= {table.name: absent} if absent else {}
    planned.sort(key=lambda pair: -1 if pair[1].seed is None else pair[1].seed)
    progress = RunProgress(len(planned), sum(one.seconds for _, one in planned))
    with ledger.writing():
        for name, experiment in planned:
            progress.current = f"{name} · {experiment_text(experiment)}"
            if callback is not None:
                callback(progress)
            run.finished.setdefault(name, [])
            try:
                entry = _finished(experiment, ledger, folder, progress, run)
            except (LikewiseError, OSError) as error:
                run.miss(name, experiment, error)
            else:
                run.finished[name].append((experiment, entry))
            progress.done, progress.expected = progress.done + 1, progress.expected - experiment.seconds
    with suppress(OSError):  # it still has the checkpoints of experiments that failed or that another command started
        (folder / EXPERIMENTS).rmdir()
    return run


def experiment_text(experiment: Experiment) -> str:
    """A short description of an experiment."""
    seed = "" if experiment.seed is None else f", seed {experiment.seed}"
    return f"{experiment.system}, {experiment.backbone}{seed}: {', '.join(experiment.columns)}"


def _finished(experiment: Experiment, ledger: Ledger, folder: Path, progress: RunProgress, run: TablesRun) -> Entry:
    key = experiment_key(experiment)
    own = folder / EXPERIMENTS / key
    if key not in ledger:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # notes on data and models are in the results
            result = experiment.compute(own)
        seconds = time.perf_counter() - start
        ledger.append(key, experiment, result, seconds)
        progress.spent, progress.guessed = progress.spent + seconds, progress.guessed + experiment.seconds
        run.computed += 1
    shutil.rmtree(own, ignore_errors=True)  # only now: before its line is on disk, the trained model could be lost
    return ledger[key]
