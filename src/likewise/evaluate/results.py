"""What an evaluation found: a cell for every model and task, as values and as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .statistics.significance import Interval
from .task import EvaluationSettings, Evidence, Result, Score, Task


@dataclass(frozen=True)
class Cell:
    """One model on one task: its result, or why there is none."""

    model: str
    task: str
    result: Result | None = None
    error: str = ""
    seconds: float = 0.0  # of the run that computed it
    kept: bool = False  # read from disk instead of computed

    @property
    def value(self) -> float:
        """The headline; NaN where there is no result."""
        return self.result.headline.value if self.result else float("nan")


@dataclass(frozen=True)
class Results:
    """Every cell, by model and task. Of each result the headline keeps its evidence, other scores their interval."""

    models: tuple[str, ...]
    tasks: tuple[Task, ...]
    cells: Mapping[tuple[str, str], Cell]
    settings: EvaluationSettings
    resamples: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, at: tuple[str, str]) -> Cell:
        return self.cells[at]

    @property
    def failed(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells.values() if cell.error)

    def average(self, model: str, names: tuple[str, ...]) -> float:
        """The plain mean of a model's headlines on these tasks; NaN where one is missing or measures another thing."""
        chosen = [self.cells.get((model, name)) for name in names]
        found = [cell.result for cell in chosen if cell and cell.result]
        kinds = {result.headline.name.split("/")[0] for result in found}
        if len(found) < len(names) or len(names) < 2 or len(kinds) != 1:
            return float("nan")
        return float(np.mean([result.headline.value for result in found]))

    def as_dict(self) -> dict[str, Any]:
        """Everything but evidence, for JSON; None where a figure is missing."""
        return {
            "settings": {**asdict(self.settings), "resamples": self.resamples},
            "models": list(self.models),
            "tasks": [{"name": task.name, "suite": task.suite, "summary": task.summary} for task in self.tasks],
            "cells": [_told(cell) for cell in self.cells.values()],
            "notes": list(self.notes),
        }


def to_json(result: Result) -> dict[str, Any]:
    """A result as plain values; arrays as lists, which keep every digit."""
    return {**asdict(result), "scores": [_score(score) for score in result.scores]}


def from_json(told: Mapping[str, Any]) -> Result:
    """The result that `to_json` told of."""
    scores = tuple(
        Score(
            **{
                **score,
                "evidence": _evidence(score["evidence"]),
                "interval": Interval(**score["interval"]) if score["interval"] else None,
            }
        )
        for score in told["scores"]
    )
    return Result(told["task"], scores, told["protocol"], tuple(told["notes"]))


def without_secondary_evidence(result: Result) -> Result:
    """Evidence for the headline alone: what comparing two models needs."""
    first, *others = result.scores
    return replace(result, scores=(first, *(replace(score, evidence=None) for score in others)))


def _told(cell: Cell) -> dict[str, Any]:
    told = {"model": cell.model, "task": cell.task, "seconds": round(cell.seconds, 2), "kept": cell.kept}
    if cell.result is None:
        return {**told, "error": cell.error}
    scores = [
        {
            "name": score.name,
            "value": _finite(score.value),
            "n": score.n,
            "interval": [_finite(score.interval.low), _finite(score.interval.high)] if score.interval else None,
        }
        for score in cell.result.scores
    ]
    return {**told, "protocol": cell.result.protocol, "notes": list(cell.result.notes), "scores": scores}


def _finite(x: float) -> float | None:
    return x if np.isfinite(x) else None


def _score(score: Score) -> dict[str, Any]:
    e = score.evidence
    evidence = e and {"said": _list(e.said), "gold": _list(e.gold), "groups": _list(e.groups), "statistic": e.statistic}
    interval = score.interval and asdict(score.interval)
    return {"name": score.name, "value": score.value, "n": score.n, "evidence": evidence, "interval": interval}


def _evidence(told: Mapping[str, Any] | None) -> Evidence | None:
    if told is None:
        return None
    gold, groups = told["gold"], told["groups"]
    return Evidence(
        np.asarray(told["said"], np.float64),
        None if gold is None else np.asarray(gold, np.float64),
        None if groups is None else np.asarray(groups, np.int64),
        told["statistic"],
    )


def _list(x: np.ndarray | None) -> list[Any] | None:
    return None if x is None else x.tolist()
