"""The results of an evaluation: a cell for every model and task, as values and as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .statistics.joint_bootstrap import mean_interval
from .statistics.significance import BootstrapSettings, Interval
from .task import EvaluationSettings, Evidence, Result, Score, Task


@dataclass(frozen=True)
class Cell:
    """One model on one task: its result, or the reason why there is none."""

    model: str
    task: str
    result: Result | None = None
    error: str = ""
    seconds: float = 0.0  # taken by the run that computed it
    cached: bool = False  # read from the cache instead of computed

    @property
    def value(self) -> float:
        """The headline score; NaN if there is no result."""
        return self.result.headline.value if self.result else float("nan")


@dataclass(frozen=True)
class Results:
    """Every cell, by model and task. Of each result the headline keeps its evidence, other scores their interval."""

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

    def average(self, model: str, names: tuple[str, ...]) -> float:
        """The plain mean of a model's headlines on these tasks; NaN if one is missing or the metrics differ."""
        cells = [self.cells.get((model, name)) for name in names]
        results = [cell.result for cell in cells if cell and cell.result]
        metrics = {result.headline.name.split("/")[0] for result in results}
        if len(results) < len(names) or len(names) < 2 or len(metrics) != 1:
            return float("nan")
        return float(np.mean([result.headline.value for result in results]))

    def average_interval(self, model: str, names: tuple[str, ...]) -> Interval | None:
        """The average with its interval, for which tasks share the draws of items that they share; None without one."""
        if np.isnan(self.average(model, names)):
            return None
        results = [self.cells[model, name].result for name in names]
        evidence = [result.headline.evidence for result in results if result and result.headline.evidence]
        bootstrap = BootstrapSettings(self.settings.resamples)
        return mean_interval(evidence, bootstrap=bootstrap) if len(evidence) == len(names) else None

    def as_dict(self) -> dict[str, Any]:
        """Everything except evidence, for JSON; None for a missing number."""
        return {
            "settings": asdict(self.settings),
            "models": list(self.models),
            "tasks": [{"name": task.name, "suite": task.suite, "summary": task.summary} for task in self.tasks],
            "cells": [_cell_as_dict(cell) for cell in self.cells.values()],
            "notes": list(self.notes),
        }


def to_json(result: Result) -> dict[str, Any]:
    """A result as plain values; arrays as lists, which keep every digit."""
    return {**asdict(result), "scores": [_score_as_dict(score) for score in result.scores]}


def from_json(stored: Mapping[str, Any]) -> Result:
    """The inverse of `to_json`."""
    scores = tuple(
        Score(
            **{
                **score,
                "evidence": _evidence(score["evidence"]),
                "interval": Interval(**score["interval"]) if score["interval"] else None,
            }
        )
        for score in stored["scores"]
    )
    return Result(stored["task"], scores, stored["protocol"], tuple(stored["notes"]))


def without_secondary_evidence(result: Result) -> Result:
    """The result with evidence for the headline only, which is enough to compare two models."""
    first, *others = result.scores
    return replace(result, scores=(first, *(replace(score, evidence=None) for score in others)))


def _cell_as_dict(cell: Cell) -> dict[str, Any]:
    entry = {"model": cell.model, "task": cell.task, "seconds": round(cell.seconds, 2), "cached": cell.cached}
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
    return {**entry, "protocol": cell.result.protocol, "notes": list(cell.result.notes), "scores": scores}


def _finite(x: float) -> float | None:
    return x if np.isfinite(x) else None


def _score_as_dict(score: Score) -> dict[str, Any]:
    e = score.evidence
    evidence = e and {
        "values": _list(e.values),
        "gold": _list(e.gold),
        "groups": _list(e.groups),
        "statistic": e.statistic,
        "items": _list(e.items),
    }
    interval = score.interval and asdict(score.interval)
    return {"name": score.name, "value": score.value, "n": score.n, "evidence": evidence, "interval": interval}


def _evidence(stored: Mapping[str, Any] | None) -> Evidence | None:
    if stored is None:
        return None
    gold, groups, items = stored["gold"], stored["groups"], stored["items"]
    return Evidence(
        np.asarray(stored["values"], np.float64),
        None if gold is None else np.asarray(gold, np.float64),
        None if groups is None else np.asarray(groups, np.int64),
        stored["statistic"],
        None if items is None else np.asarray(items, np.int64),
    )


def _list(x: np.ndarray | None) -> list[Any] | None:
    return None if x is None else x.tolist()
