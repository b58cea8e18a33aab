"""Measures tables: runs each experiment once, stores its line when finished, and reports failures."""

import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from likewise.errors import LikewiseError

from .ledger import Entry, Ledger, experiment_key
from .paper_table import Effort, Experiment, PaperTable

EXPERIMENTS = "experiments"
"""The output's subfolder for unfinished experiments."""
NO_MODEL = "no local model fits this row; choose one with --model NAME (likewise model list shows them)"


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
    with ledger.writing():
        for i, (name, experiment) in enumerate(planned, 1):
            if callback is not None:
                callback(f"{name} · {experiment_text(experiment)} ({i} of {len(planned)})")
            run.finished.setdefault(name, [])
            try:
                entry = _finished(experiment, ledger, folder, run)
            except (LikewiseError, OSError) as error:
                run.miss(name, experiment, error)
            else:
                run.finished[name].append((experiment, entry))
    with suppress(OSError):  # it still has the checkpoints of experiments that failed or that another command started
        (folder / EXPERIMENTS).rmdir()
    return run


def experiment_text(experiment: Experiment) -> str:
    """A short description of an experiment."""
    seed = "" if experiment.seed is None else f", seed {experiment.seed}"
    return f"{experiment.system}, {experiment.backbone}{seed}: {', '.join(experiment.columns)}"


def _finished(experiment: Experiment, ledger: Ledger, folder: Path, run: TablesRun) -> Entry:
    key = experiment_key(experiment)
    own = folder / EXPERIMENTS / key
    if key not in ledger:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # notes on data and models are in the results
            result = experiment.compute(own)
        ledger.append(key, experiment, result, time.perf_counter() - start)
        run.computed += 1
    shutil.rmtree(own, ignore_errors=True)  # only now: before its line is on disk, the trained model could be lost
    return ledger[key]
