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

from ...errors import BadInput, MissingExtra
from ...model_files.provenance import UNKNOWN_PROVENANCE, Provenance, write_provenance
from ...runtime.atomic_files import atomic_file
from ...runtime.installation import install_command
from ...runtime.untrusted_files import read_object
from ..data.schedule import DataSource
from ..run import TrainResult, TrainSettings
from ..step.trainable import Trainable
from ..trainer import FREE, Callback, Evaluator, train
from .checkpoint import first_difference, latest_checkpoint
from .console import ConsoleProgress
from .interrupt import stop_requested
from .log import Log
from .model_card import model_card
from .record import RECORD, training_record, write_record

CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """A run with all that it needs in memory.

    `data` describes the courses, in their order (`record.described`); `about` is what makes it this run and no other.
    """

    embedder: Trainable
    courses: Sequence[DataSource]
    run: TrainSettings
    backbone: Mapping[str, Any]  # name, fingerprint, local: whether the name is a folder's
    data: Sequence[Mapping[str, Any]]
    about: Mapping[str, Any]
    measure: Evaluator | None = None
    recipe: str | None = None
    leaks: Sequence[str] = field(default_factory=tuple)  # what the data know of tests, a sentence each
    provenance: Provenance = UNKNOWN_PROVENANCE  # what the model has seen, where that is known by names


def train_in_folder(
    folder: Path,
    work: TrainingJob,
    *,
    fresh: bool = False,
    tell: Sequence[Callback] = (),
    log_every: int = 1,
    speaks: bool = True,
) -> TrainResult:
    """Trains, shown as it goes; a checkpoint of this very run in the folder is gone on from, unless `fresh`.

    Of several processes one `speaks`.
    """
    if fresh and speaks:
        (folder / RECORD).unlink(missing_ok=True)  # it tells of the run that this one replaces
    before = None if fresh else latest_checkpoint(folder / CHECKPOINTS)
    if before is not None and speaks:
        print(f"likewise: going on after step {before.step:,}, from the checkpoint in {folder}", file=sys.stderr)
    live = ConsoleProgress()
    with stop_requested(quiet=not speaks) as stop:
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


def finished_record(folder: Path, work: TrainingJob) -> dict[str, Any] | None:
    """The record of the run that the folder holds, if it is this one, ended.

    Raises:
        BadInput: it is another one, which would be written over.
    """
    record = read_object(folder / RECORD)
    if not record:
        return None
    if record.get("identity") != run_identity(work):
        raise BadInput(
            f"{folder} holds another finished run: {first_difference(run_identity(work), record.get('identity'))}. "
            "Give another folder, or --fresh to train over it"
        )
    return record


def run_identity(work: TrainingJob) -> dict[str, Any]:
    """What a finished run is known by."""
    run = {name: value for name, value in asdict(work.run).items() if name not in FREE}
    objectives = [course.objective.describe() for course in work.courses]
    told: dict[str, Any] = json.loads(json.dumps({**work.about, "run": run, "objectives": objectives}))
    return told


def save_finished(work: TrainingJob, outcome: TrainResult, folder: Path, scores: Mapping[str, Any]) -> dict[str, Any]:
    """The model, its card, curve and record; the checkpoints, no longer wanted, go last."""
    record = training_record(
        work.embedder,
        work.run,
        outcome,
        backbone=work.backbone,
        data=work.data,
        scores=scores,
        recipe=work.recipe,
        identity=run_identity(work),
        leaks=work.leaks,
    )
    work.embedder.save(folder)
    write_provenance(folder, work.provenance)  # after the model, which comes with that of what it was loaded from
    with atomic_file(folder / "README.md") as partial:
        partial.write_text(model_card(record, folder.resolve().name), "utf-8")
    _draw(folder)
    write_record(folder, record)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    return record


def _draw(folder: Path) -> None:
    try:
        from .curve import draw_curve

        draw_curve(folder / "log.jsonl", folder / "curve.png", folder.resolve().name)
    except (ImportError, MissingExtra):
        print(f"likewise: note: curve.png wants matplotlib: {install_command('map')}", file=sys.stderr)
