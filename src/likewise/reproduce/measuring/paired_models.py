"""Two models on the same items: the difference of their scores with its paired bootstrap interval, task by task."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...data.datasets import read_dataset
from ...errors import BadInput
from ...evaluate.cache import Cache
from ...evaluate.runner import evaluate
from ...evaluate.statistics.comparison import compare
from ...evaluate.task import EvaluationSettings, Evidence
from ..paper_table import QUICK_ROWS, Effort, Experiment, ExperimentResult, Measured, PaperTable
from .evaluated import (
    RESAMPLES,
    evaluation_identity,
    local_names,
    named,
    opened,
    sampled_dataset,
)


@dataclass(frozen=True)
class PairedModels:
    """The score of a model minus that of another, for every local one that `{backbone}` or `{model}` stands for."""

    first: str
    second: str

    @property
    def data(self) -> tuple[str, ...]:
        """Nothing is trained."""
        return ()

    def experiments(self, system: str, table: PaperTable, effort: Effort) -> list[Experiment]:
        """One for every model and column."""
        return [
            Experiment(
                system=system,
                backbone=local or self.first,
                columns=(column,),
                settings=f"{QUICK_ROWS} rows of each file" if effort.quick else "",
                seed=None,
                quick=effort.quick,
                seconds=2.0 if effort.quick else 5.0,  # both are measured for rows of their own
                identity=partial(self._identity, local, column, table, effort.quick),
                compute=partial(self._result, local, column, table, effort.quick),
            )
            for local in local_names(self.first, effort)
            for column in table.measures
        ]

    def _identity(self, local: str, column: str, table: PaperTable, quick: bool) -> Mapping[str, object]:
        measures = {column: table.measures[column]}
        second = evaluation_identity(named(self.second, local), measures, quick)
        return {**evaluation_identity(named(self.first, local), measures, quick), "minus": second["model"]}

    def _result(self, local: str, column: str, table: PaperTable, quick: bool, _: Path) -> ExperimentResult:
        task = table.measures[column][0]
        ours, theirs = (headline_evidence(named(model, local), task, quick) for model in (self.first, self.second))
        difference = compare(ours, theirs, resamples=RESAMPLES).difference
        figure = Measured(100 * difference.value, 100 * difference.low, 100 * difference.high, len(ours.values))
        return ExperimentResult({column: figure})


def headline_evidence(name: str, task: str, quick: bool) -> Evidence:
    """The items behind a model's headline on a task.

    Raises:
        BadInput: it could not be computed, or the task gives no evidence.
    """
    read = sampled_dataset if quick else read_dataset
    settings = EvaluationSettings(resamples=RESAMPLES)
    cell = evaluate({name: opened(name)}, task, settings=settings, read=read, cache=Cache.of_user())[name, task]
    if cell.result is None or cell.result.headline.evidence is None:
        raise BadInput(f"{task} of {name}: {cell.error or 'it has no evidence by items'}")
    return cell.result.headline.evidence
