"""A run and its folder: checkpoints and a log meanwhile; at the end the model with its curve, card and record.

`likewise.train.train`, the command and the recipes (recipes/) all end here, so that a finished folder is one thing.
"""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import BadInput, MissingExtra
from ...model_files.provenance import UNKNOWN_PROVENANCE, Provenance, write_provenance
from ...runtime.atomic_files import atomic_file
from ...runtime.installation import install_command
from ...runtime.untrusted_files import read_object
from ...runtime.writer_lock import WriterLock
from ..data.schedule import DataSource
from ..evaluators import final_scores
from ..settings import TrainSettings
from ..step.trainable import Trainable
from ..step_state import TrainResult
from ..trainer import Callback, Evaluator, Trainer
from .checkpoint import first_difference, latest_checkpoint
from .console import ConsoleProgress
from .interrupt import stop_requested
from .log import Log, TensorBoard
from .model_card import model_card
from .record import RECORD, RunDescription, training_record, write_record

CHECKPOINTS = "checkpoints"
LOG = "log.jsonl"


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """A run with all that it needs in memory, and what its record will say.

    `data` describes the sources, in their order (`record.data_description`); `identity` is what makes it this run.
    """

    model: Trainable
    sources: Sequence[DataSource]
    settings: TrainSettings
    backbone: Mapping[str, Any]  # name, fingerprint, local: whether the name is a folder's
    data: Sequence[Mapping[str, Any]]
    identity: Mapping[str, Any]
    evaluator: Evaluator | None = None
    recipe: str | None = None
    leaks: Sequence[str] = field(default_factory=tuple)  # what the data share with test sets, one sentence each
    provenance: Provenance = UNKNOWN_PROVENANCE  # the data sets that the model has seen, where they have names

    def description(self) -> RunDescription:
        """What a record says about it."""
        return RunDescription(
            backbone=self.backbone, data=self.data, identity=run_identity(self), recipe=self.recipe, leaks=self.leaks
        )


@dataclass(frozen=True)
class FolderRun:
    """How a run in a folder ended. Only the main process of a run that was not interrupted has the `record`."""

    result: TrainResult
    record: dict[str, Any] | None
    was_finished: bool = False  # before: nothing was trained


def run_in_folder(
    folder: Path, job: TrainingJob, *, resume: bool = True, callbacks: Sequence[Callback] = (), is_main: bool = True
) -> FolderRun:
    """Train and save the finished folder, unless this same run is finished there already."""
    record = finished_record(folder, job) if resume else None
    if record is not None:
        if is_main:
            _note(f"this same run is already finished in {folder}; --fresh (resume=False) trains it again")
        return FolderRun(TrainResult(**record["result"]), record, was_finished=True)
    result = train_in_folder(folder, job, resume=resume, callbacks=callbacks, is_main=is_main)
    if result.interrupted or not is_main:
        return FolderRun(result, None)
    return FolderRun(result, save_finished(job, result, folder, final_scores(job.evaluator, job.model)))


def train_in_folder(
    folder: Path, job: TrainingJob, *, resume: bool = True, callbacks: Sequence[Callback] = (), is_main: bool = True
) -> TrainResult:
    """Train with live progress; a checkpoint of this same run in the folder is resumed from, unless told not to.

    Of several processes only the main one prints.
    """
    if not is_main:
        return _train(folder, job, resume, callbacks, is_main=False)
    folder.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(folder, "train into another folder")  # log and checkpoints are read, changed and written
    try:
        return _train(folder, job, resume, callbacks, is_main=True)
    finally:
        lock.remove()


def _train(
    folder: Path, job: TrainingJob, resume: bool, callbacks: Sequence[Callback], *, is_main: bool
) -> TrainResult:
    if not resume and is_main:
        (folder / RECORD).unlink(missing_ok=True)  # it describes the run that this one replaces
    before = latest_checkpoint(folder / CHECKPOINTS) if resume else None
    if before is not None and is_main:
        _note(f"resuming after step {before.step:,}, from the checkpoint in {folder}")
    console = ConsoleProgress() if job.settings.progress else None
    with stop_requested(quiet=not is_main) as stop:
        result = Trainer(
            model=job.model,
            data=job.sources,
            settings=job.settings,
            evaluator=job.evaluator,
            callbacks=[*_writers(folder, job.settings), *callbacks, *([console] if console else [])],
            checkpoint_folder=folder / CHECKPOINTS,
            identity=job.identity,
        ).run(resume=resume, stop=stop)
    if console is not None:
        console.close()
    if result.interrupted and is_main:
        _note(
            f"stopped after step {result.steps:,}; its checkpoint is in {folder / CHECKPOINTS}. Start the same run "
            "again to continue from there (--fresh, or resume=False, starts over)"
        )
    if is_main:
        _warn_if_worse(result)
    return result


def _warn_if_worse(result: TrainResult) -> None:
    before = next(iter(result.initial_scores.values()), None)
    if before is not None and result.best_score is not None and result.best_score < before:
        _note(
            f"training did not improve the model: its best score was {result.best_score:.4f}, and {before:.4f} before "
            "training. The saved weights are the best of training. Try a lower learning rate or other data"
        )


def _writers(folder: Path, settings: TrainSettings) -> list[Callback]:
    log = Log(folder / LOG, settings.logging_steps)
    return [log, TensorBoard(folder / "tensorboard")] if settings.tensorboard else [log]


def finished_record(folder: Path, job: TrainingJob) -> dict[str, Any] | None:
    """The record of the finished run in the folder, if it is this same run."""
    record = read_object(folder / RECORD)
    if not record:
        return None
    if record.get("identity") != run_identity(job):
        raise BadInput(
            f"{folder} has another finished run: {first_difference(run_identity(job), record.get('identity'))}. "
            "Use another folder, or --fresh (resume=False) to replace it"
        )
    return record


def run_identity(job: TrainingJob) -> dict[str, Any]:
    """What must be equal for a finished run to be the same."""
    objectives = [source.objective.describe() for source in job.sources]
    identity: dict[str, Any] = json.loads(
        json.dumps({**job.identity, "run": job.settings.identity(), "objectives": objectives})
    )
    return identity


def save_finished(job: TrainingJob, result: TrainResult, folder: Path, scores: Mapping[str, Any]) -> dict[str, Any]:
    """Save the model, its card, curve and record; the checkpoints, no longer needed, are deleted last."""
    record = training_record(job.model, job.settings, result, job.description(), scores)
    save_with_record(job.model, folder, record, job.provenance)
    return record


def save_with_record(model: Trainable, folder: Path, record: Mapping[str, Any], known: Provenance) -> None:
    """Save a model as the finished folder of this record, with the data sets that it has seen."""
    model.save(folder)
    write_provenance(folder, known)  # after the model, which is saved with that of its backbone
    with atomic_file(folder / "README.md") as partial:
        partial.write_text(model_card(record, folder.resolve().name), "utf-8")
    if (folder / LOG).exists():  # a soup has those of its runs
        _draw_curve(folder)
    write_record(folder, record)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def finished_weights(job: TrainingJob, folder: Path) -> None:
    """Give the job's model the weights of the finished run in the folder."""
    saved = type(job.model).load(folder, precision="fp32", device=job.model.device)
    job.model.load_state_dict(saved.state_dict())
    job.model.eval()


def _draw_curve(folder: Path) -> None:
    try:
        from .curve import draw_curve

        draw_curve(folder / LOG, folder / "curve.png", folder.resolve().name)
    except (ImportError, MissingExtra):
        _note(f"curve.png needs matplotlib: {install_command('map')}")


def _note(text: str) -> None:
    print(f"likewise: note: {text}", file=sys.stderr)
