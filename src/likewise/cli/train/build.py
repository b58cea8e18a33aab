"""From a job to what can be trained, and the scores that are kept with what was."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...data.datasets import dataset_credit, load_dataset
from ...errors import BadInput
from ...evaluate.statistics.significance import interval
from ...files import READABLE, Table
from ...model_files.provenance import provenance
from ...train.data.batch import TrainingRows
from ...train.data.schedule import DataSource
from ...train.data.sources import ColumnNames, ColumnTable, read_rows, sha256
from ...train.evaluators import PAIR, AccuracyEvaluator, SpearmanEvaluator, gold_scores, predict_scores
from ...train.objectives import PairClassification, parse_objective
from ...train.output.record import data_description
from ...train.output.run_folder import TrainingJob
from ...train.step.trainable import check_objective
from ...train.trainer import Evaluator
from ..model_options import prepare_runtime
from .config import DataSet, Kind, TrainCommand
from .model_kinds import TABLES, expected_labels, start_model


@dataclass(frozen=True, kw_only=True)
class ReadyToTrain(TrainingJob):
    """A job with its model and data in memory, and the pairs that it is measured on."""

    job: TrainCommand
    dev: Mapping[str, Sequence[Any]]


def prepare_training(job: TrainCommand) -> ReadyToTrain:
    """Reads the data, then the model; what cannot be used is told before anything is computed."""
    prepare_runtime(Namespace(device=job.options.device, threads=job.options.threads))
    made = [data_source(one, job.options.kind) for one in job.data]
    labels = expected_labels(job, [course.objective for course, _ in made])
    dev, measure = _measured(job, len(labels))
    assert job.options.model is not None
    embedder = start_model(job, labels)
    for course, _ in made:
        check_objective(embedder, course.objective)
    backbone = {
        "name": job.options.model,
        "fingerprint": embedder.fingerprint,
        "local": Path(job.options.model).exists(),
    }
    data = [data_description for _, data_description in made]
    about = {
        "kind": job.options.kind,
        "backbone": backbone["fingerprint"],
        "data": [one["digest"] for one in data],
        "dev": job.options.dev,
    }
    return ReadyToTrain(
        embedder=embedder,
        courses=[course for course, _ in made],
        run=job.run,
        backbone=backbone,
        data=data,
        about=about,
        measure=measure,
        recipe=job.options.recipe,
        provenance=provenance(embedder).after(one.file for one in job.data if _path(one.file) is None),
        job=job,
        dev=dev,
    )


def _measured(job: TrainCommand, labels: int) -> tuple[Mapping[str, Sequence[Any]], Evaluator | None]:
    """The pairs that the run is measured on, and how: by their scores, or by their labels where the model has some."""
    said = job.options.dev
    if not said:
        return {}, None
    if labels < 2:
        dev = _columns(said)
        return dev, SpearmanEvaluator(dev, said)
    path = _path(said)
    columns = ColumnNames(labels=job.data[0].labels or ColumnNames().labels)
    found = read_rows(
        path if path is not None else ColumnTable(load_dataset(said).columns), PairClassification(labels), columns
    )
    assert isinstance(found, TrainingRows)
    labelled = {**found.texts, "label": found.numbers["label"].tolist()}
    return labelled, AccuracyEvaluator(labelled, said)


def final_scores(made: ReadyToTrain) -> dict[str, Any]:
    """Spearman on the pairs it is measured on, with its interval."""
    if not made.job.options.dev:
        return {}
    if made.measure is not None and "label" in made.dev:
        return {name: {"value": v, "n": len(made.dev["label"])} for name, v in made.measure(made.embedder).items()}
    gold = gold_scores(made.dev, made.job.options.dev)
    found = interval(predict_scores(made.embedder, made.dev), gold)
    return {f"{made.job.options.dev} spearman": {**asdict(found), "n": len(gold)}}


def data_source(one: DataSet, kind: Kind = "embedder") -> tuple[DataSource, dict[str, Any]]:
    """Rows with their objective, and what is written down of them."""
    objective = parse_objective(one.objective, TABLES[kind])
    pairs = [said.partition("=") for said in one.columns]
    if not all(found for _, _, found in pairs):
        raise BadInput(f"columns are {', '.join(one.columns)}; wanted WANTED=FOUND, anchor=question say")
    columns = ColumnNames({w.strip(): f.strip() for w, _, f in pairs}, one.labels or ColumnNames().labels, one.where)
    path = _path(one.file)
    data = path if path is not None else ColumnTable(load_dataset(one.file).columns)
    try:
        found = read_rows(data, objective, columns)
    except BadInput as error:
        raise BadInput(f"{one.file}: {error}" if one.file not in str(error) else str(error)) from None
    assert isinstance(found, TrainingRows)
    course = DataSource(found, objective, one.file if path is None else path.name)
    known = dataset_credit(one.file) if path is None else {"sha256": sha256(path)}
    own = {name: value for name, value in (("licence", one.licence), ("hub", one.hub)) if value}
    return course, data_description(course, **{**known, **own}, where=one.where)


def _columns(said: str) -> Mapping[str, Sequence[Any]]:
    """Pairs and scores of a file or of a data set."""
    path = _path(said)
    if path is None:
        return load_dataset(said).columns
    table = Table.read(path, lambda found: [name for name in PAIR if name in found])
    missing = [name for name in PAIR if name not in table.columns]
    if missing:
        raise BadInput(f"{path} has no column {missing[0]!r}; --dev wants {', '.join(PAIR)}")
    return {**{name: table.texts(name) for name in PAIR[:2]}, "score": table.numbers("score")}


def _path(said: str) -> Path | None:
    """A file that is there, or is meant to be by its ending; None is the name of a data set."""
    path = Path(said).expanduser()
    return path if path.suffix.lower() in READABLE or path.exists() else None
