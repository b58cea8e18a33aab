"""From the command's configuration to data and model in memory, ready to train."""

from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path

from ...data.column_names import ColumnNames
from ...train.data.schedule import DataSource
from ...train.data.sources import load_data
from ...train.evaluators import PairEvaluator, load_evaluator
from ...train.output.record import TrainingJob
from ...train.run import training_job
from ..model_options import prepare_runtime, set_threads
from .config import DataOptions, Kind, TrainCommand
from .model_kinds import KINDS, expected_labels, start_model


@dataclass(frozen=True, kw_only=True)
class ReadyToTrain:
    """The command, with its model and data in memory."""

    command: TrainCommand
    job: TrainingJob
    evaluator: PairEvaluator | None

    @property
    def folder(self) -> Path:
        return Path(self.command.options.output or "")


def prepare_training(command: TrainCommand) -> ReadyToTrain:
    """Read the data, then the model; what cannot be used is reported before anything is computed."""
    options = command.options
    set_threads(Namespace(threads=options.threads))
    prepare_runtime(Namespace(device=options.device))
    sources = [data_source(one, options.kind) for one in command.data]
    labels = expected_labels(command, [source.objective for source in sources])
    evaluator = _evaluator(command, len(labels))
    model = start_model(command, labels)
    job = training_job(options.model or "", model, sources, command.settings, evaluator)
    return ReadyToTrain(command=command, job=replace(job, recipe=options.recipe), evaluator=evaluator)


def data_source(one: DataOptions, kind: Kind = "embedder") -> DataSource:
    """The rows of one --data with their objective."""
    columns = ColumnNames.parse(one.columns, one.labels, one.where)
    objectives = KINDS[kind].objectives
    return load_data(one.file, one.objective, columns, objectives=objectives, licence=one.licence, hub=one.hub)


def _evaluator(command: TrainCommand, labels: int) -> PairEvaluator | None:
    """Scores the model on --dev: by correlation with scores, by positives found, or by accuracy of several labels."""
    options = command.options
    if not options.dev:
        return None
    texts = next((one.labels for one in command.data if one.labels), ())
    if options.dev_columns:
        return load_evaluator(options.dev, ColumnNames.parse(options.dev_columns, texts), labels=labels)
    pairs = [pair for one in command.data for pair in one.columns]
    return load_evaluator(options.dev, training_columns=ColumnNames.parse(pairs, texts), labels=labels)
