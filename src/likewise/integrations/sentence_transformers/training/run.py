"""What happens between the steps of a run: callbacks, logs, evaluations, and checkpoints in `checkpoint-N` folders."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from operator import gt, lt
from pathlib import Path
from typing import Any

import torch

from ....errors import BadInput
from ....runtime.atomic_files import atomic_file
from ....runtime.untrusted_files import read_object
from ....train.output import checkpoint as checkpoints
from ....train.output.run_folder import CHECKPOINTS
from ....train.run_state import RunCheckpoints, RunState
from ....train.step_state import StepState
from .batch_order import PeerSchedule
from .callbacks import EarlyStoppingCallback, TrainerState, metric_value
from .training_arguments import SentenceTransformerTrainingArguments

STATE = "trainer_state.json"


class RunFlow:
    """A run in progress, as callbacks see it; `likewise.train` calls the object after each step."""

    def __init__(self, trainer: Any, schedule: PeerSchedule, max_steps: int) -> None:
        self.trainer, self.max_steps, self.event = trainer, max_steps, trainer.call_event
        self.args: SentenceTransformerTrainingArguments = trainer.args
        self.batches_per_epoch = schedule.batches_per_epoch
        self.steps_per_epoch = schedule.steps_per_epoch(self.args.gradient_accumulation_steps)
        self.state: TrainerState = trainer.state
        self.losses: list[float] = []  # since the last log
        self.last = StepState(step=0, max_steps=max_steps)
        every = ("logging_steps", "eval_steps", "save_steps")
        self.every = {name: self.args.resolved_steps(name, max_steps) for name in every}
        vars(self.state).update(max_steps=max_steps, **self.every)
        self.save_due = False

    def __call__(self, step: StepState) -> None:
        self.last = step
        self.losses.append(step.loss)
        self.state.total_loss += step.loss
        self.state.global_step, self.state.epoch = step.step, self._epoch(step.step)
        self.event("on_step_end")
        self._act(self._due("steps"))
        if self._ends_epoch(step.step):
            self.event("on_epoch_end")
            self._act(self._due("epoch"))
        if self.trainer.control.should_epoch_stop:
            raise BadInput("a callback set control.should_epoch_stop, which is not supported; set should_training_stop")

    def begin_step(self) -> None:
        """Call the events that precede a step."""
        if self.state.global_step % self.steps_per_epoch == 0:
            self.event("on_epoch_begin")
        self.event("on_step_begin")

    def _epoch(self, step: int) -> float:
        whole, rest = divmod(step, self.steps_per_epoch)
        return float(whole + rest * self.args.gradient_accumulation_steps / self.batches_per_epoch)

    def _ends_epoch(self, step: int) -> bool:
        return bool(step % self.steps_per_epoch == 0 or step == self.max_steps or self.trainer.stops())

    def _due(self, interval: str) -> Mapping[str, bool]:
        """Which of the actions `log`, `evaluate` and `save` are due according to the arguments."""
        args, step, last = self.args, self.state.global_step, self.state.global_step >= self.max_steps
        chosen = {
            "log": (args.logging_strategy, "logging_steps", args.logging_first_step and step == 1),
            "evaluate": (args.eval_strategy, "eval_steps", last),
            "save": (args.save_strategy, "save_steps", last),
        }
        due = {}
        for what, (strategy, every, also) in chosen.items():
            now = interval == "epoch" or also or (self.every[every] > 0 and step % self.every[every] == 0)
            due[what] = strategy == interval and bool(now)
        delayed = args.eval_delay > (step if interval == "steps" else self.state.epoch)
        return {**due, "evaluate": due["evaluate"] and not delayed}

    def _act(self, due: Mapping[str, bool]) -> None:
        """Do what is due or what a callback requested: log, evaluate, then mark a checkpoint as due."""
        if (due["log"] or self.trainer.control.should_log) and self.losses:
            self._log()
        if due["evaluate"] or self.trainer.control.should_evaluate:
            self._evaluate()
        control = self.trainer.control  # on_log or on_evaluate may have returned a new one
        self.save_due |= due["save"] or control.should_save
        control.should_log = control.should_evaluate = control.should_save = False

    def _log(self) -> None:
        mean = sum(self.losses) / len(self.losses)
        rates = {"grad_norm": self.last.gradient_norm, "learning_rate": self.last.learning_rate}
        self.losses = []
        self.trainer.log({"loss": mean, **rates})

    def _evaluate(self) -> None:
        metrics = self.trainer.evaluate()
        if self.args.metric_for_best_model is None:
            return
        value = metric_value(self.args.metric_for_best_model, metrics)
        best, is_better = self.state.best_metric, gt if self.args.greater_is_better else lt
        if best is None or is_better(value, best):
            self.state.best_metric, self.state.best_global_step = value, self.state.global_step
            self.save_due |= self.args.save_strategy == "best"


class RunFolders(RunCheckpoints):
    """Checkpoints that sentence-transformers can load, with everything needed to resume the run exactly."""

    def __init__(self, flow: RunFlow, folder: Path | None, identity: Mapping[str, Any], writes: bool) -> None:
        super().__init__(folder=folder, identity=identity, writes=writes)
        self.flow, self.root = flow, folder
        self.own: list[str] = []
        """The names of the checkpoints written by this run, including those from before it was resumed."""

    def save(self, state: RunState) -> None:
        """Write a checkpoint if one is due; then begin the next step."""
        if self.flow.save_due and self.root is not None:
            self._save(self.root / f"checkpoint-{state.step}", state)
            self.flow.event("on_save")
        self.flow.save_due = False
        if state.step < self.flow.max_steps and not self.flow.trainer.stops():
            self.flow.begin_step()

    def _save(self, folder: Path, state: RunState) -> None:
        trainer, run = self.flow.trainer, self.flow.state
        trainer.save_checkpoint_model(folder)
        if run.best_global_step == state.step:
            run.best_model_checkpoint = str(folder)
        self.own = [*(name for name in self.own if name != folder.name), folder.name]
        stoppers = [one for one in trainer.callbacks if isinstance(one, EarlyStoppingCallback)]
        run.patience_counters = [one.early_stopping_patience_counter for one in stoppers]
        progress = {**asdict(run), "losses": self.flow.losses, "checkpoints": self.own}
        with atomic_file(folder / STATE) as partial:
            partial.write_text(json.dumps(progress, indent=2) + "\n", "utf-8")
        if not self.flow.args.save_only_model:
            content = {**state.as_json(), "run": self.identity}
            checkpoints.save_checkpoint(folder / CHECKPOINTS, state.tensors(), state.optimizer, content)
        self._remove_older()

    def _remove_older(self) -> None:
        """Keep at most `save_total_limit` of this run's checkpoints, always including the best and the newest."""
        limit, best = self.flow.args.save_total_limit, self.flow.state.best_model_checkpoint
        if (limit or 0) < 1 or self.root is None:
            return
        found = [self.root / name for name in self.own]
        protected = Path(best).resolve() if best and self.flow.args.load_best_model_at_end else None
        kept = [folder for folder in found if folder.resolve() == protected]
        kept += [folder for folder in found[::-1] if folder not in kept][: max(1, limit - len(kept))]
        for folder in found:
            if folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)
        self.own = [folder.name for folder in found if folder in kept]

    def resume(self, state: RunState, device: torch.device, tokens: int | None) -> None:
        chosen = self.flow.trainer.resume_folder
        self.folder = chosen / CHECKPOINTS
        super().resume(state, device, tokens)
        saved = read_object(chosen / STATE)
        run = self.flow.state
        vars(run).update({one.name: saved[one.name] for one in fields(run) if one.name in saved})
        self.flow.losses = list(saved.get("losses", []))
        if self.root is not None and chosen.parent.resolve() == self.root.resolve():
            known = saved.get("checkpoints", [chosen.name])
            self.own = [one.name for one in checkpoint_folders(self.root) if one.name in known]
        stoppers = [one for one in self.flow.trainer.callbacks if isinstance(one, EarlyStoppingCallback)]
        for one, count in zip(stoppers, run.patience_counters, strict=False):
            one.early_stopping_patience_counter = count
        self.flow.begin_step()

    def clear(self) -> None:
        """Prevent resuming from an earlier run's checkpoints; their models are kept."""
        for folder in checkpoint_folders(self.root):
            shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def checkpoint_folders(root: Path | None) -> list[Path]:
    """The checkpoint-N folders, sorted by N."""
    if root is None or not root.is_dir():
        return []
    found = [path for path in root.glob("checkpoint-*") if path.name.rpartition("-")[2].isdecimal()]
    return sorted(found, key=lambda path: int(path.name.rpartition("-")[2]))


def folder_to_resume(given: Any, root: Path) -> Path | None:
    """The checkpoint to resume from: the given one, or the newest complete one if `given` is True; None: start anew."""
    if not given:
        return None
    if not isinstance(given, bool):
        chosen = Path(given)
        if checkpoints.latest_checkpoint(chosen / CHECKPOINTS) is None:
            raise BadInput(f"cannot resume from {chosen}: it has no {CHECKPOINTS}/step-…")
        return chosen
    found = [one for one in checkpoint_folders(root) if checkpoints.latest_checkpoint(one / CHECKPOINTS)]
    if not found:
        raise BadInput(f"resume_from_checkpoint is True, but {root} has no checkpoint to resume from")
    return found[-1]


@contextmanager
def without_default_prompt(model: Any) -> Iterator[None]:
    """Context manager that disables the default prompt, because sentence-transformers trains without it."""
    before = model.loaded.manifest
    model.loaded.manifest = replace(before, default_prompt=None)
    try:
        yield
    finally:
        model.loaded.manifest = before
