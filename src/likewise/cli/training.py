"""From a job to what can be trained, and from what was trained to a saved folder."""

import hashlib
import json
import shutil
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput, MissingExtra
from ..evaluate.datasets import check, entry, load, names
from ..evaluate.significance import interval
from ..files import READABLE, Table
from ..store.files import atomic, read_object
from ..train.card import card
from ..train.checkpoint import first_difference
from ..train.measure import PAIR, accuracy_of, likeness, scores_of, spearman_of
from ..train.objectives import PairClassification, objective_of
from ..train.record import RECORD, append, record_of, write_record
from ..train.rows import Rows
from ..train.run import Outcome
from ..train.schedule import Course
from ..train.sources import Columns, rows, sha256
from ..train.trainable import Trainable, fit
from ..train.trainer import FREE, Measure
from .job import DataSet, Job, Kind
from .kinds import TABLES, begun, labels_wanted
from .model import ready as machine_ready

CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class Ready:
    """A job with its model and data in memory. `about` is what makes it this run and no other."""

    job: Job
    embedder: Trainable
    courses: Sequence[Course]
    data: list[dict[str, Any]]
    backbone: dict[str, Any]
    measure: Measure | None
    dev: Mapping[str, Sequence[Any]]
    about: dict[str, Any]


def ready(job: Job) -> Ready:
    """Reads the data, then the model; what cannot be used is told before anything is computed."""
    machine_ready(Namespace(device=job.options.device, threads=job.options.threads))
    made = [_course(one, job.options.kind) for one in job.data]
    labels = labels_wanted(job, [course.objective for course, _ in made])
    dev, measure = _measured(job, len(labels))
    assert job.options.model is not None
    embedder = begun(job, labels)
    for course, _ in made:
        fit(embedder, course.objective)
    backbone = {
        "name": job.options.model,
        "fingerprint": embedder.fingerprint,
        "local": Path(job.options.model).exists(),
    }
    data = [described for _, described in made]
    about = {
        "kind": job.options.kind,
        "backbone": backbone["fingerprint"],
        "data": [one["digest"] for one in data],
        "dev": job.options.dev,
    }
    return Ready(job, embedder, [course for course, _ in made], data, backbone, measure, dev, about)


def _measured(job: Job, labels: int) -> tuple[Mapping[str, Sequence[Any]], Measure | None]:
    """The pairs that the run is measured on, and how: by their scores, or by their labels where the model has some."""
    said = job.options.dev
    if not said:
        return {}, None
    if labels < 2:
        dev = _columns(said)
        return dev, spearman_of(dev, said)
    path = _path(said)
    columns = Columns(labels=job.data[0].labels or Columns().labels)
    found = rows(path if path is not None else _Picked(load(said).columns), PairClassification(labels), columns)
    assert isinstance(found, Rows)
    labelled = {**found.texts, "label": found.numbers["label"].tolist()}
    return labelled, accuracy_of(labelled, said)


def finished(folder: Path, made: Ready) -> dict[str, Any] | None:
    """The record of the run that the folder holds, if it is this one, ended.

    Raises:
        BadInput: it is another one, which would be written over.
    """
    record = read_object(folder / RECORD)
    if not record:
        return None
    if record.get("identity") != identity(made):
        raise BadInput(
            f"{folder} holds another finished run: {first_difference(identity(made), record.get('identity'))}. "
            "Give another folder, or --fresh to train over it"
        )
    return record


def identity(made: Ready) -> dict[str, Any]:
    """What a finished run is known by."""
    run = {name: value for name, value in asdict(made.job.run).items() if name not in FREE}
    objectives = [course.objective.describe() for course in made.courses]
    told: dict[str, Any] = json.loads(json.dumps({**made.about, "run": run, "objectives": objectives}))
    return told


def save(made: Ready, outcome: Outcome, folder: Path) -> dict[str, Any]:
    """The model, its card, curve and record; the checkpoints, no longer wanted, go last."""
    record = record_of(
        made.embedder,
        made.job.run,
        outcome,
        backbone=made.backbone,
        data=made.data,
        scores=_scores(made),
        recipe=made.job.options.recipe,
        identity=identity(made),
    )
    made.embedder.save(folder)
    with atomic(folder / "README.md") as partial:
        partial.write_text(card(record, folder.resolve().name), "utf-8")
    _draw(folder)
    write_record(folder, record)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    if made.job.options.record:
        append(Path(made.job.options.record), record, str(folder))
    return record


def _draw(folder: Path) -> None:
    try:
        from ..train.curve import draw

        draw(folder / "log.jsonl", folder / "curve.png", folder.resolve().name)
    except (ImportError, MissingExtra):
        print('likewise: note: curve.png wants matplotlib: pip install "likewise[map]"', file=sys.stderr)


def _scores(made: Ready) -> dict[str, Any]:
    if not made.job.options.dev:
        return {}
    if made.measure is not None and "label" in made.dev:
        return {name: {"value": v, "n": len(made.dev["label"])} for name, v in made.measure(made.embedder).items()}
    gold = scores_of(made.dev, made.job.options.dev)
    found = interval(likeness(made.embedder, made.dev), gold)
    return {f"{made.job.options.dev} spearman": {**asdict(found), "n": len(gold)}}


def _course(one: DataSet, kind: Kind) -> tuple[Course, dict[str, Any]]:
    """Rows with their objective, and what is written down of them."""
    objective = objective_of(one.objective, TABLES[kind])
    pairs = [said.partition("=") for said in one.columns]
    if not all(found for _, _, found in pairs):
        raise BadInput(f"columns are {', '.join(one.columns)}; wanted WANTED=FOUND, anchor=question say")
    columns = Columns({w.strip(): f.strip() for w, _, f in pairs}, one.labels or Columns().labels, one.where)
    path = _path(one.file)
    data = path if path is not None else _Picked(load(one.file).columns)
    try:
        found = rows(data, objective, columns)
    except BadInput as error:
        raise BadInput(f"{one.file}: {error}" if one.file not in str(error) else str(error)) from None
    assert isinstance(found, Rows)
    described: dict[str, Any] = {
        "name": one.file if path is None else path.name,
        "rows": len(found),
        "columns": [*found.texts, *found.numbers],
        "objective": objective.describe(),
        "where": one.where,
        "sha256": None if path is None else sha256(path),
        "digest": digest(found),
        "licence": one.licence,
        "hub": one.hub,
    }
    return Course(found, objective, described["name"]), described | _known(one, path)


def _known(one: DataSet, path: Path | None) -> dict[str, Any]:
    """What the catalogue says of a data set that was named."""
    if path is not None or one.file not in names():
        return {}
    dataset, file = entry(one.file)
    place = check(one.file).path
    told = {"licence": dataset.licence if dataset else None, "hub": file.hub.repository if file.hub else None}
    told = {key: getattr(one, key) or value for key, value in told.items()}
    return {**told, "sha256": sha256(place) if place else None}


def digest(found: Rows) -> str:
    """Of what is trained on: texts and numbers as they were read."""
    made = hashlib.sha256()
    for name, texts in found.texts.items():
        made.update(f"{name}\0{len(texts)}\0".encode())
        for text in texts:
            made.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for name, numbers in found.numbers.items():
        made.update(f"{name}\0{numbers.dtype}{numbers.shape}\0".encode() + np.ascontiguousarray(numbers).tobytes())
    return made.hexdigest()


def _columns(said: str) -> Mapping[str, Sequence[Any]]:
    """Pairs and scores of a file or of a data set."""
    path = _path(said)
    if path is None:
        return load(said).columns
    table = Table.read(path, lambda found: [name for name in PAIR if name in found])
    missing = [name for name in PAIR if name not in table.columns]
    if missing:
        raise BadInput(f"{path} has no column {missing[0]!r}; --dev wants {', '.join(PAIR)}")
    return {**{name: table.texts(name) for name in PAIR[:2]}, "score": table.numbers("score")}


def _path(said: str) -> Path | None:
    """A file that is there, or is meant to be by its ending; None is the name of a data set."""
    path = Path(said).expanduser()
    return path if path.suffix.lower() in READABLE or path.exists() else None


@dataclass(frozen=True)
class _Picked:
    """Columns of which an objective takes those that it reads."""

    columns: Mapping[str, Sequence[Any]]

    @property
    def column_names(self) -> list[str]:
        return list(self.columns)

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self.columns[name]
