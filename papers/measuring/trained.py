"""Measuring what a recipe trains: one experiment for every backbone and seed, resumed from the recipe's own folder."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ..paper_table import Effort, Experiment, ExperimentResult, Measured, PaperTable
from ..recipes.recipe import KEYS
from .evaluated import BACKBONE, evaluated_figures, files_identity, model_fingerprint

RUN_KEYS = {column: task for task, column in KEYS.items()}
"""Columns by their names in recipes' records, where these differ."""
RUN_LIST = "run.jsonl"
"""The recipe's line about its run, in the experiment's folder."""


@dataclass(frozen=True)
class TrainedByRecipe:
    """A model that a recipe trains: `python -m papers.recipes.RECIPE START FLAGS`.

    Attributes:
        recipe: its module below `papers.recipes`.
        columns: the table's that it has.
        data: the files that it reads.
        start: what it starts from; `{backbone}` stands for each local one.
        flags: of the recipe.
        quick: further flags with --quick, among them how many rows or steps.
        seconds: a guess at the time of a run, whole and quick.
        on_tasks: measure the model on the tasks of the columns, in place of what the recipe measures.
    """

    recipe: str
    columns: tuple[str, ...]
    data: tuple[str, ...]
    start: str = BACKBONE
    flags: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    seconds: tuple[float, float] = (600.0, 30.0)
    on_tasks: bool = False

    def experiments(self, system: str, table: PaperTable, effort: Effort) -> list[Experiment]:
        """One for every backbone and seed."""
        names = effort.trained_backbones if BACKBONE in self.start else (self.start,)
        return [self._experiment(system, table, effort, name, seed) for name in names for seed in range(effort.seeds)]

    def _experiment(self, system: str, table: PaperTable, effort: Effort, name: str, seed: int) -> Experiment:
        quick = effort.quick_training
        flags = (*self.flags, *(self.quick if quick else ()))
        measures = {column: table.measures[column] for column in self.columns} if self.on_tasks else {}
        training = _Training(self.recipe, name, flags, seed, measures, quick)
        return Experiment(
            system=system,
            backbone=name,
            columns=tuple(column for column in self.columns if column in table.columns),
            settings=" ".join(flags),
            seed=seed,
            quick=quick,
            seconds=self.seconds[quick],
            identity=partial(training.identity, self.data),
            compute=training.result,
        )


@dataclass(frozen=True)
class _Training:
    """One run of a recipe, and the tasks that measure its model, if the recipe's own scores are not what is wanted."""

    recipe: str
    start: str
    flags: tuple[str, ...]
    seed: int
    measures: Mapping[str, tuple[str, str | None]]
    quick: bool

    def identity(self, data: Sequence[str]) -> dict[str, Any]:
        """What the figures depend on."""
        files = files_identity(data)
        known = {"recipe": self.recipe, "flags": list(self.flags), "data": files}
        return {**known, "model": model_fingerprint(self.start), "tasks": sorted(self.measures)}

    def result(self, folder: Path) -> ExperimentResult:
        """Train or resume, and read what the recipe recorded."""
        run_list = folder / RUN_LIST
        record = self._record(folder / "model", run_list)
        run = json.loads(run_list.read_text("utf-8").splitlines()[-1])
        if self.measures:
            result = evaluated_figures(str(folder / "model"), self.measures, self.quick)
        else:
            result = ExperimentResult(recorded_figures(record["scores"]))
        return ExperimentResult(result.figures, run, (*result.notes, *record["leaks"]))

    def _record(self, model: Path, run_list: Path) -> Mapping[str, Any]:
        recipe = import_module(f"..recipes.{self.recipe}", __package__)
        given = [self.start, *self.flags, "--seed", str(self.seed), "-o", str(model), "--record", str(run_list)]
        with redirect_stdout(sys.stderr):
            record = recipe.main(given)
        return dict(record[0] if isinstance(record, list) else record)


def recorded_figures(scores: Mapping[str, Any]) -> dict[str, Measured]:
    """The scores × 100 of a recipe's record, by the names of tables' columns."""
    figures = {}
    for name, score in scores.items():
        low, high = (None if score.get(end) is None else 100 * score[end] for end in ("low", "high"))
        figures[RUN_KEYS.get(name, name)] = Measured(100 * score["value"], low, high, score.get("n"))
    return figures
