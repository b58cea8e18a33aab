"""The results of an evaluation: one cell per model and task, as values and as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .statistics.significance import Interval
from .task import EvaluationSettings, Evidence, Result, Score, Task


@dataclass(frozen=True)
class Cell:
    """A model's result on a task, or the reason why there is no result."""

    model: str
    task: str
    result: Result | None = None
    error: str = ""
    seconds: float = 0.0  # in the run that computed the result
    cached: bool = False  # whether it was read from the cache instead of computed

    @property
    def value(self) -> float:
        """The headline score; NaN if there is no result."""
        return self.result.headline.value if self.result else float("nan")


@dataclass(frozen=True)
class Results:
    """All cells, by model and task. The headline score of each result keeps its evidence; other scores do not."""

    models: tuple[str, ...]
    tasks: tuple[Task, ...]
    cells: Mapping[tuple[str, str], Cell]
    settings: EvaluationSettings
    notes: tuple[str, ...] = ()

    def __getitem__(self, at: tuple[str, str]) -> Cell:
        return self.cells[at]

    @property
    def failed(self) -> tuple[Cell, ...]:
        """The cells without a result."""
        return tuple(cell for cell in self.cells.values() if cell.error)

    @property
    def scored_tasks(self) -> tuple[Task, ...]:
        """The tasks with a result for at least one model, for tables and plots; all tasks if there are no results."""
        return tuple(t for t in self.tasks if any(self[model, t.name].result for model in self.models)) or self.tasks

    def average(self, model: str, names: tuple[str, ...]) -> float:
        """The unweighted mean of a model's headline scores; NaN if one is missing or their metrics differ."""
        cells = [self.cells.get((model, name)) for name in names]
        results = [cell.result for cell in cells if cell and cell.result]
        metrics = {result.headline.name.split("/")[0] for result in results}
        if len(results) < len(names) or len(names) < 2 or len(metrics) != 1:
            return float("nan")
        return float(np.mean([result.headline.value for result in results]))

    def as_dict(self) -> dict[str, Any]:
        """Everything but the evidence, for JSON; missing numbers become None."""
        return {
            "settings": asdict(self.settings),
            "models": list(self.models),
            "tasks": [{"name": task.name, "suite": task.suite, "summary": task.summary} for task in self.tasks],
            "cells": [_cell_as_dict(cell) for cell in self.cells.values()],
            "notes": list(self.notes),
        }


def to_json(result: Result) -> dict[str, Any]:
    """A result as JSON values; arrays become lists of numbers at full precision."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(result), default=np.ndarray.tolist))
    return plain


def from_json(stored: Mapping[str, Any]) -> Result:
    scores = []
    for score in stored["scores"]:
        interval = Interval(**score["interval"]) if score["interval"] else None
        scores.append(Score(**{**score, "evidence": _evidence(score["evidence"]), "interval": interval}))
    return Result(stored["task"], tuple(scores), stored["protocol"], tuple(stored["notes"]))


def _evidence(stored: Mapping[str, Any] | None) -> Evidence | None:
    if stored is None:
        return None
    types = {"values": np.float64, "gold": np.float64, "groups": np.int64, "items": np.int64}
    arrays = {name: None if stored[name] is None else np.asarray(stored[name], of) for name, of in types.items()}
    return Evidence(**{**stored, **arrays})


def _cell_as_dict(cell: Cell) -> dict[str, Any]:
    entry: dict[str, Any] = {"model": cell.model, "task": cell.task}
    entry |= {"seconds": round(cell.seconds, 2), "cached": cell.cached}
    if cell.result is None:
        return {**entry, "error": cell.error}
    scores = [
        {
            "name": score.name,
            "value": _finite(score.value),
            "n": score.n,
            "interval": [_finite(score.interval.low), _finite(score.interval.high)] if score.interval else None,
        }
        for score in cell.result.scores
    ]
    entry |= {"protocol": cell.result.protocol, "notes": list(cell.result.notes), "scores": scores}
    if rankings := cell.result.rankings:
        ids = rankings.collection.query_ids
        values = {name: dict(zip(ids, row.tolist(), strict=True)) for name, row in rankings.by_query.items()}
        entry |= {"seconds_per_query": rankings.median_seconds, "queries": values}
    return entry


def _finite(x: float) -> float | None:
    return x if np.isfinite(x) else None
