"""Measures models trained by a recipe: one experiment per backbone and seed, resumed from the recipe's own folder."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from likewise.evaluate.tasks.registry import TASKS

from ..paper_table import BERT, QUICK_ROWS, Effort, Experiment, ExperimentResult, Measured, PaperTable, is_model
from ..recipes.recipe import DEV, KEYS
from .evaluated import BACKBONE, Measures, evaluated_figures, files_identity, model_fingerprint

RUN_KEYS = {column: task for task, column in KEYS.items()}
"""Columns by their names in recipes' records, if these differ."""
RUN_LIST = "run.jsonl"
"""The file in the experiment's folder with the recipe's line about its run."""


@dataclass(frozen=True)
class TrainedByRecipe:
    """A model that a recipe trains: `python -m papers.recipes.RECIPE START FLAGS`."""

    recipe: str  # its module in `papers.recipes`
    columns: tuple[str, ...]  # the table's columns that it measures
    data: tuple[str, ...]  # the training files
    start: str = BACKBONE
    flags: tuple[str, ...] = ()
    small: tuple[str, ...] = ()  # more flags for every backbone but the paper's, such as a larger learning rate
    quick: tuple[str, ...] = ()  # more flags with --quick, such as the number of rows or steps
    on_tasks: bool = False  # measure the columns' tasks rather than use the recipe's scores

    def experiments(self, system: str, table: PaperTable, effort: Effort) -> list[Experiment]:
        """One experiment for every backbone and seed."""
        names = effort.trained_backbones if BACKBONE in self.start else (self.start,)
        return [self._experiment(system, table, effort, name, seed) for name in names for seed in range(effort.seeds)]

    def _experiment(self, system: str, table: PaperTable, effort: Effort, name: str, seed: int) -> Experiment:
        quick = effort.quick_training
        flags = (*self.flags, *(() if is_model(name, BERT) else self.small), *(self.quick if quick else ()))
        measures = {column: table.measures[column] for column in self.columns} if self.on_tasks else {}
        tasks = [table.measures.get(column, (column, None))[0] for column in self.columns]
        files = [*self.data, DEV, *(file for task in tasks for file in TASKS[task].data)]
        return Experiment(
            system=system,
            backbone=name,
            columns=tuple(column for column in self.columns if column in table.columns),
            settings=" ".join(flags),
            seed=seed,
            quick=quick,
            identity=partial(self._identity, name, flags, measures, files, effort.quick),
            compute=partial(self._result, [name, *flags, "--seed", str(seed)], measures, effort.quick),
        )

    def _identity(
        self, name: str, flags: Sequence[str], measures: Measures, files: Sequence[str], quick: bool
    ) -> dict[str, Any]:
        known = {"recipe": self.recipe, "flags": list(flags), "data": files_identity(files)}
        rows = QUICK_ROWS if measures and quick else None  # a recipe's own scores are on all test data
        return {**known, "model": model_fingerprint(name), "tasks": sorted(measures), "rows": rows}

    def _result(self, given: Sequence[str], measures: Measures, quick: bool, folder: Path) -> ExperimentResult:
        run_list = folder / RUN_LIST
        recipe = import_module(f"..recipes.{self.recipe}", __package__)
        with redirect_stdout(sys.stderr):
            record = recipe.main([*given, "-o", str(folder / "model"), "--record", str(run_list)])
        record = record[0] if isinstance(record, list) else record
        run = json.loads(run_list.read_text("utf-8").splitlines()[-1])
        if measures:
            result = evaluated_figures(str(folder / "model"), measures, quick)
        else:
            result = ExperimentResult(recorded_figures(record["scores"]))
        return ExperimentResult(result.figures, run, (*result.notes, *record["leaks"]))


def recorded_figures(scores: Mapping[str, Any]) -> dict[str, Measured]:
    """The scores × 100 in a recipe's record, by the names of the tables' columns."""
    figures = {}
    for name, score in scores.items():
        low, high = (None if score.get(end) is None else 100 * score[end] for end in ("low", "high"))
        figures[RUN_KEYS.get(name, name)] = Measured(100 * score["value"], low, high, score.get("n"))
    return figures
