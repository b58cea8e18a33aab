"""Evaluates a model without training it: each column of a table is an experiment, and vectors are cached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Int

from likewise.data.columns import DatasetColumns
from likewise.data.datasets import dataset_credit, read_dataset
from likewise.errors import BadInput
from likewise.evaluate.cache import Cache
from likewise.evaluate.runner import evaluate
from likewise.evaluate.statistics.significance import Interval
from likewise.evaluate.task import EvaluationSettings, Result, Score
from likewise.evaluate.tasks.registry import TASKS
from likewise.model_names import load_model

from ..paper_table import MEAN, QUICK_ROWS, Effort, Experiment, ExperimentResult, Measured, PaperTable
from .mean_interval import average_interval

TOPIC = "topic"
"""The name of the column with each pair's topic, in data that have topics."""

BACKBONE = "{backbone}"
"""Placeholder in a model's name for the name of each local backbone."""
TUNED = "{model}"
"""Placeholder in a model's name for the name of each local model tuned for sentences."""
OVER_LAYERS, WITHOUT_LAYERS = "sbert-wk", ("likewise-static",)
"""The pooling that reads several layers, and the models without layers, which have no rows for it."""
RESAMPLES = 2_000
Measures = Mapping[str, tuple[str, str | None]]


@dataclass(frozen=True)
class ModelOnTasks:
    """A model by name, in which `{backbone}` or `{model}` stands for each local one, on the tasks of the columns."""

    model: str
    columns: tuple[str, ...] = ()  # the columns to measure; all if empty
    data: ClassVar[tuple[str, ...]] = ()  # nothing is trained

    def experiments(self, system: str, table: PaperTable, effort: Effort) -> list[Experiment]:
        """One experiment for every model and column, including the mean of all columns."""
        columns, names = (
            self.columns or (*table.measures, *([MEAN] if table.mean else [])),
            local_names(self.model, effort),
        )
        return [self._experiment(system, table, effort, name, column) for name in names for column in columns]

    def _experiment(self, system: str, table: PaperTable, effort: Effort, local: str, column: str) -> Experiment:
        name = named(self.model, local)
        measures = measures_of(table, column)
        return Experiment(
            system=system,
            backbone=local or self.model,
            columns=(column,),
            settings=f"{QUICK_ROWS} rows of each file" if effort.quick else "",
            seed=None,
            quick=effort.quick,
            identity=partial(evaluation_identity, name, measures, effort.quick),
            compute=lambda _: _one_column(evaluated_figures(name, measures, effort.quick), column),
        )


def _one_column(result: ExperimentResult, column: str) -> ExperimentResult:
    return replace(result, figures={column: result.figures[column]})


def measures_of(table: PaperTable, column: str) -> Measures:
    """The tasks behind a column of a table: all of them if the column is their mean."""
    return table.measures if column == MEAN else {column: table.measures[column]}


def local_names(model: str, effort: Effort) -> tuple[str, ...]:
    """The local models that a placeholder in a model's name stands for; one empty name if there is none."""
    names = effort.backbones if BACKBONE in model else effort.models if TUNED in model else ("",)
    return tuple(name for name in names if name not in WITHOUT_LAYERS or OVER_LAYERS not in model)


def named(model: str, local: str) -> str:
    """A model's name with its placeholder replaced by a local model."""
    return model.replace(BACKBONE, local).replace(TUNED, local)


def evaluation_identity(name: str, measures: Measures, quick: bool) -> dict[str, Any]:
    """Everything that a model's figures depend on: its fingerprint, the files' digests, and the settings."""
    return {
        "model": model_fingerprint(name),
        "tasks": {column: list(measure) for column, measure in measures.items()},
        "data": files_identity([file for task, _ in measures.values() for file in TASKS[task].data]),
        "rows": QUICK_ROWS if quick else None,
        "resamples": RESAMPLES,
    }


def files_identity(files: Sequence[str]) -> dict[str, str | None]:
    """The digests of data files; None for a missing file."""
    return {name: dataset_credit(name)["sha256"] for name in dict.fromkeys(files)}


def evaluated_figures(name: str, measures: Measures, quick: bool) -> ExperimentResult:
    """A model's figures in these columns, with their mean if there are several, and the tasks' notes."""
    tasks = list(dict.fromkeys(task for task, _ in measures.values()))
    settings = EvaluationSettings(resamples=RESAMPLES)
    read = sampled_dataset if quick else read_dataset
    results = evaluate({name: opened(name)}, tasks, settings=settings, read=read, cache=Cache.of_user())
    for cell in results.failed:
        raise BadInput(f"{cell.task}: {cell.error}")
    by_task = {cell.task: cell.result for cell in results.cells.values() if cell.result}
    figures = {column: _figure(by_task[task], score) for column, (task, score) in measures.items()}
    headlines = all(score is None for _, score in measures.values())
    if headlines and (mean := average_interval(results, name, tasks)):
        figures[MEAN] = percent(mean)
    return ExperimentResult(figures, notes=tuple(dict.fromkeys(n for one in by_task.values() for n in one.notes)))


@lru_cache
def model_fingerprint(name: str) -> str:
    """The fingerprint of the model with this name, computed once."""
    return str(opened(name).fingerprint)


@lru_cache(maxsize=2)
def opened(name: str) -> Any:
    """The model with this name; the last two stay in memory, because models are compared in pairs."""
    return load_model(name)


def sampled_dataset(name: str) -> DatasetColumns:
    """A random sample of a data set's rows in their original order, always the same; topics are kept whole."""
    columns = read_dataset(name)
    count = len(next(iter(columns.values())))
    if count <= QUICK_ROWS:
        return columns
    rows = np.random.default_rng(0).permutation(count)[:QUICK_ROWS]
    if TOPIC in columns:  # pairs are split into folds within topics, so each needs all its pairs
        rows = _rows_of_whole_topics(columns[TOPIC])
    return {column: [values[i] for i in np.sort(rows)] for column, values in columns.items()}


def _rows_of_whole_topics(topics: Sequence[str]) -> Int[np.ndarray, " n"]:
    """The rows of random topics, enough of them to have QUICK_ROWS rows together."""
    names, of, sizes = np.unique(np.asarray(topics), return_inverse=True, return_counts=True)
    order = np.random.default_rng(0).permutation(len(names))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), QUICK_ROWS)) + 1
    return np.flatnonzero(np.isin(of, order[:enough]))


def _figure(result: Result, name: str | None) -> Measured:
    score: Score = result.headline if name is None else next(one for one in result.scores if one.name == name)
    return Measured(100 * score.value, n=score.n) if score.interval is None else percent(score.interval, score.n)


def percent(found: Interval, n: int | None = None) -> Measured:
    """A score and its interval, both × 100."""
    return Measured(100 * found.value, 100 * found.low, 100 * found.high, n)
