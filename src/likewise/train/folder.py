"""A run and its folder: checkpoints and a log while it goes; at the end the model with its curve, card and record.

The command and the recipes (recipes/) both end here, so that a finished folder is one thing.
"""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import BadInput, MissingExtra
from ..installing import install_command
from ..modelfiles import read_object
from ..store.files import atomic
from ..store.provenance import NOTHING, Provenance, write_provenance
from .card import card
from .checkpoint import first_difference, latest
from .live import Live
from .log import Log
from .record import RECORD, record_of, write_record
from .run import Outcome, Run
from .schedule import Course
from .stopping import asked_to_stop
from .trainable import Trainable
from .trainer import FREE, Measure, Told, train

CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, kw_only=True)
class Work:
    """A run with all that it needs in memory.

    `data` describes the courses, in their order (`record.described`); `about` is what makes it this run and no other.
    """

    embedder: Trainable
    courses: Sequence[Course]
    run: Run
    backbone: Mapping[str, Any]  # name, fingerprint, local: whether the name is a folder's
    data: Sequence[Mapping[str, Any]]
    about: Mapping[str, Any]
    measure: Measure | None = None
    recipe: str | None = None
    leaks: Sequence[str] = field(default_factory=tuple)  # what the data know of tests, a sentence each
    provenance: Provenance = NOTHING  # what the model has seen, where that is known by names


def train_in(
    folder: Path,
    work: Work,
    *,
    fresh: bool = False,
    tell: Sequence[Told] = (),
    log_every: int = 1,
    speaks: bool = True,
) -> Outcome:
    """Trains, shown as it goes; a checkpoint of this very run in the folder is gone on from, unless `fresh`.

    Of several processes one `speaks`.
    """
    if fresh and speaks:
        (folder / RECORD).unlink(missing_ok=True)  # it tells of the run that this one replaces
    before = None if fresh else latest(folder / CHECKPOINTS)
    if before is not None and speaks:
        print(f"likewise: going on after step {before.step:,}, from the checkpoint in {folder}", file=sys.stderr)
    live = Live()
    with asked_to_stop(quiet=not speaks) as stop:
        outcome = train(
            work.embedder,
            work.courses,
            work.run,
            folder=folder / CHECKPOINTS,
            measure=work.measure,
            tell=[Log(folder / "log.jsonl", log_every), *tell, live],
            resume=not fresh,
            stop=stop,
            about=work.about,
        )
    live.close()
    if outcome.interrupted and speaks:
        print(
            f"likewise: stopped after step {outcome.steps:,}; its checkpoint is in {folder / CHECKPOINTS}. The same "
            "command goes on from there (--fresh would begin anew)",
            file=sys.stderr,
        )
    return outcome


def finished(folder: Path, work: Work) -> dict[str, Any] | None:
    """The record of the run that the folder holds, if it is this one, ended.

    Raises:
        BadInput: it is another one, which would be written over.
    """
    record = read_object(folder / RECORD)
    if not record:
        return None
    if record.get("identity") != identity(work):
        raise BadInput(
            f"{folder} holds another finished run: {first_difference(identity(work), record.get('identity'))}. "
            "Give another folder, or --fresh to train over it"
        )
    return record


def identity(work: Work) -> dict[str, Any]:
    """What a finished run is known by."""
    run = {name: value for name, value in asdict(work.run).items() if name not in FREE}
    objectives = [course.objective.describe() for course in work.courses]
    told: dict[str, Any] = json.loads(json.dumps({**work.about, "run": run, "objectives": objectives}))
    return told


def save(work: Work, outcome: Outcome, folder: Path, scores: Mapping[str, Any]) -> dict[str, Any]:
    """The model, its card, curve and record; the checkpoints, no longer wanted, go last."""
    record = record_of(
        work.embedder,
        work.run,
        outcome,
        backbone=work.backbone,
        data=work.data,
        scores=scores,
        recipe=work.recipe,
        identity=identity(work),
        leaks=work.leaks,
    )
    work.embedder.save(folder)
    write_provenance(folder, work.provenance)  # after the model, which comes with that of what it was loaded from
    with atomic(folder / "README.md") as partial:
        partial.write_text(card(record, folder.resolve().name), "utf-8")
    _draw(folder)
    write_record(folder, record)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    return record


def _draw(folder: Path) -> None:
    try:
        from .curve import draw

        draw(folder / "log.jsonl", folder / "curve.png", folder.resolve().name)
    except (ImportError, MissingExtra):
        print(f"likewise: note: curve.png wants matplotlib: {install_command('map')}", file=sys.stderr)
