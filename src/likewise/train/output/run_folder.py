"""A run's folder: checkpoints and a log during training; at the end, the model with its curve, card and record.

`likewise.train.train`, the command and the recipes (papers/) all use this, so that finished folders look alike.
"""

import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from ...errors import BadInput, MissingExtra
from ...model_files.provenance import write_provenance
from ...runtime.atomic_files import atomic_file
from ...runtime.installation import install_command
from ...runtime.untrusted_files import read_object
from ...runtime.writer_lock import FILE as LOCK
from ...runtime.writer_lock import WriterLock
from ..evaluators import final_scores
from ..step.trainable import Trainable
from ..step_state import TrainResult
from ..trainer import Callback, Trainer
from .adapter import save_adapter
from .callbacks import ConsoleProgress, Log, TensorBoard, read_log
from .checkpoint import first_difference, latest_checkpoint
from .model_card import model_card
from .record import RECORD, TrainingJob, training_record, write_record

CHECKPOINTS = "checkpoints"
LOG = "log.jsonl"
ADAPTER = "adapter"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class FolderRun:
    """How a run in a folder ended. Only the main process of an uninterrupted run has the `record`."""

    result: TrainResult
    record: dict[str, Any] | None
    was_finished: bool = False  # before this call, so nothing was trained


def run_in_folder(
    folder: Path, job: TrainingJob, *, resume: bool = True, callbacks: Sequence[Callback] = (), is_main: bool = True
) -> FolderRun:
    """Train and save the finished folder, unless the same run is already finished there."""
    record = finished_record(folder, job) if resume else None
    if record is not None:
        if is_main:
            _note(f"this run is already finished in {folder}; --fresh (resume=False) trains it again")
        return FolderRun(TrainResult(**record["result"]), record, was_finished=True)
    result = train_in_folder(folder, job, resume=resume, callbacks=callbacks, is_main=is_main)
    if result.interrupted or not is_main:
        return FolderRun(result, None)
    return FolderRun(result, save_finished(job, result, folder, final_scores(job.evaluator, job.model)))


def train_in_folder(
    folder: Path, job: TrainingJob, *, resume: bool = True, callbacks: Sequence[Callback] = (), is_main: bool = True
) -> TrainResult:
    """Train with live progress; resumes from a checkpoint of the same run in the folder if `resume` allows.

    With several processes, only the main one prints and locks the folder.
    """
    if not is_main:
        return _train(folder, job, resume, callbacks, quiet=True)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(folder, "train into another folder")  # protects the log and the checkpoints
    try:
        if not resume:
            (folder / RECORD).unlink(missing_ok=True)  # it describes the run being replaced, as the adapter does
            shutil.rmtree(folder / ADAPTER, ignore_errors=True)
        elif before := latest_checkpoint(folder / CHECKPOINTS):
            _note(f"resuming after step {before.step:,}, from the checkpoint in {folder}")
        result = _train(folder, job, resume, callbacks, quiet=False)
    finally:
        if is_new:
            _remove_log_without_steps(folder)
        lock.remove()
        if is_new:
            with suppress(OSError):  # the folder is not empty, or another process writes to it by now
                folder.rmdir()
    if result.interrupted:
        _note(
            f"stopped after step {result.steps:,}; its checkpoint is in {folder / CHECKPOINTS}. Start the same run "
            "again to continue from there (--fresh, or resume=False, starts over)"
        )
    _warn_if_worse(result)
    return result


def _remove_log_without_steps(folder: Path) -> None:
    """Remove the log of a run that failed before its first step and left nothing else in its locked folder."""
    log = folder / LOG
    if {*folder.iterdir()} == {log, folder / LOCK} and not any(line["step"] for line in read_log(log)):
        log.unlink()


def _train(folder: Path, job: TrainingJob, resume: bool, callbacks: Sequence[Callback], *, quiet: bool) -> TrainResult:
    log = [Log(folder / LOG, job.settings.logging_steps)]
    board = [TensorBoard(folder / "tensorboard")] if job.settings.tensorboard else []
    with stop_requested(quiet) as stop:
        return train_job(job, [*log, *board, *callbacks], folder / CHECKPOINTS, resume=resume, stop=stop)


def train_job(
    job: TrainingJob,
    callbacks: Sequence[Callback],
    checkpoint_folder: Path | None = None,
    *,
    resume: bool = True,
    stop: Callable[[], bool] = lambda: False,
) -> TrainResult:
    """Train, with live progress if the settings enable it."""
    console = [ConsoleProgress()] if job.settings.show_progress_bar else []
    result = Trainer(
        model=job.model,
        data=job.sources,
        settings=job.settings,
        evaluator=job.evaluator,
        callbacks=[*callbacks, *console],
        checkpoint_folder=checkpoint_folder,
        identity=job.identity,
    ).run(resume=resume, stop=stop)
    for shown in console:
        shown.close()
    return result


def _warn_if_worse(result: TrainResult) -> None:
    before = next(iter(result.initial_scores.values()), None)
    if before is not None and result.best_score is not None and result.best_score < before:
        _note(
            f"training did not improve the model: its best score was {result.best_score:.4f}, compared with "
            f"{before:.4f} before training. The weights from its best step were saved. Try a lower learning rate or "
            "different data"
        )


def finished_record(folder: Path, job: TrainingJob) -> dict[str, Any] | None:
    """The record of the finished run in the folder, if it is the same run."""
    record = read_object(folder / RECORD)
    if not record:
        return None
    problem = ""
    if record.get("identity") != job.run_identity():
        problem = f"another finished run: {first_difference(job.run_identity(), record.get('identity'))}"
    elif _saved(job, folder, "cpu").fingerprint != record["model"]["fingerprint"]:
        problem = (
            "this finished run, but no longer the model that it saved: something else has written to the folder since"
        )
    if problem:
        raise BadInput(f"{folder} contains {problem}. Use another folder, or --fresh (resume=False) to replace it")
    return record


def save_finished(job: TrainingJob, result: TrainResult, folder: Path, scores: Mapping[str, Any]) -> dict[str, Any]:
    """Save the model with its card, curve, record and any LoRA adapter; then delete the checkpoints."""
    record = training_record(job, result, scores)
    job.model.save(folder)
    write_provenance(folder, job.provenance)  # after the model, which is saved with its backbone's provenance
    with atomic_file(folder / "README.md") as partial:
        partial.write_text(model_card(record, folder.resolve().name), "utf-8")
    if (folder / LOG).exists():  # a soup has no log of its own
        _draw_curve(folder)
    last = latest_checkpoint(folder / CHECKPOINTS)
    if job.settings.lora_rank and not save_adapter(job, last, folder / ADAPTER):
        _note(
            f"no {ADAPTER}/ is written, because the LoRA updates alone do not describe the model, which is in {folder}"
        )
    write_record(folder, record)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    return record


def finished_weights(job: TrainingJob, folder: Path) -> None:
    """Load the weights of the finished run in the folder into the job's model."""
    job.model.load_state_dict(_saved(job, folder, job.model.device).state_dict())
    job.model.eval()


def _saved(job: TrainingJob, folder: Path, device: str | torch.device) -> Trainable:
    return type(job.model).load(folder, precision="fp32", device=device)


def _draw_curve(folder: Path) -> None:
    try:
        from .curve import draw_curve

        draw_curve(folder / LOG, folder / "curve.png", folder.resolve().name)
    except (ImportError, MissingExtra):
        _note(f"curve.png needs matplotlib: {install_command('map')}")


def _note(text: str) -> None:
    print(f"likewise: note: {text}", file=sys.stderr)


@contextmanager
def stop_requested(quiet: bool = False) -> Iterator[Callable[[], bool]]:
    """Yields a function that returns whether Ctrl-C, or a scheduler's SIGTERM, has asked to stop after this step.

    A second signal ends the process at once, as usual. Prints a note to stderr unless `quiet`. Signals can be handled
    only in the main thread; in other threads, the function always returns False.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before: dict[int, Any] = {number: signal.getsignal(number) for number in SIGNALS}

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        received.append(number)
        signal.signal(number, before[number])
        if quiet:
            return
        print("\nlikewise: stopping after this step, with a checkpoint; a second signal stops at once", file=sys.stderr)

    for number in SIGNALS:
        signal.signal(number, handle)
    try:
        yield lambda: bool(received)
    finally:
        for number in SIGNALS:
            signal.signal(number, before[number])
