"""Compares two models on the same items: the score difference with a paired bootstrap interval, task by task."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from likewise.data.datasets import read_dataset
from likewise.errors import BadInput
from likewise.evaluate.cache import Cache
from likewise.evaluate.runner import evaluate
from likewise.evaluate.statistics.comparison import compare
from likewise.evaluate.task import EvaluationSettings, Evidence

from ..paper_table import MEAN, QUICK_ROWS, Effort, Experiment, ExperimentResult, PaperTable
from .evaluated import RESAMPLES, evaluation_identity, local_names, measures_of, named, opened, percent, sampled_dataset
from .mean_interval import mean_interval


@dataclass(frozen=True)
class PairedModels:
    """One model's score minus another's, for every local model that `{backbone}` or `{model}` stands for."""

    first: str
    second: str
    data: ClassVar[tuple[str, ...]] = ()  # nothing is trained

    def experiments(self, system: str, table: PaperTable, effort: Effort) -> list[Experiment]:
        """One experiment for every model and column, including the mean of all columns."""
        return [
            Experiment(
                system=system,
                backbone=local or self.first,
                columns=(column,),
                settings=f"{QUICK_ROWS} rows of each file" if effort.quick else "",
                seed=None,
                quick=effort.quick,
                identity=partial(self._identity, local, column, table, effort.quick),
                compute=partial(self._result, local, column, table, effort.quick),
            )
            for local in local_names(self.first, effort)
            for column in (*table.measures, *([MEAN] if table.mean else []))
        ]

    def _identity(self, local: str, column: str, table: PaperTable, quick: bool) -> Mapping[str, object]:
        measures = measures_of(table, column)
        second = evaluation_identity(named(self.second, local), measures, quick)
        return {**evaluation_identity(named(self.first, local), measures, quick), "minus": second["model"]}

    def _result(self, local: str, column: str, table: PaperTable, quick: bool, _: Path) -> ExperimentResult:
        tasks = [task for task, _ in measures_of(table, column).values()]
        ours, theirs = (
            [headline_evidence(named(model, local), task, quick) for task in tasks]
            for model in (self.first, self.second)
        )
        if column == MEAN:
            return ExperimentResult({MEAN: percent(mean_interval(ours, theirs, resamples=RESAMPLES))})
        difference = compare(ours[0], theirs[0], resamples=RESAMPLES).difference
        return ExperimentResult({column: percent(difference, len(ours[0].values))})


def headline_evidence(name: str, task: str, quick: bool) -> Evidence:
    """The per-item scores behind a model's main score on a task."""
    read = sampled_dataset if quick else read_dataset
    settings = EvaluationSettings(resamples=RESAMPLES)
    cell = evaluate({name: opened(name)}, task, settings=settings, read=read, cache=Cache.of_user())[name, task]
    if cell.result is None or cell.result.headline.evidence is None:
        raise BadInput(f"{task} of {name}: {cell.error or 'it has no per-item scores'}")
    return cell.result.headline.evidence
