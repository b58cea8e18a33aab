"""The training loop: batches, steps, measures, checkpoints. One can read it.

>>> train(embedder, [Course(Rows.of(columns, objective), objective)], Run(epochs=1))  # doctest: +SKIP
>>> train(Reranker.start(embedder), [Course(Rows.of(columns, p), p)])  # p = PairRegression()  # doctest: +SKIP
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..encoders.fingerprint import fingerprint
from ..errors import BadInput, LikewiseError
from ..runtime.atomic_files import atomic_file
from .data.batch import Batch, TrainingRows
from .data.schedule import BatchSchedule, DataSource
from .data.sources import rows_digest
from .optimization import optimizer as optimization
from .optimization.ema import EMA, copy_weights
from .optimization.freeze import prepared_for_training
from .output import checkpoint as checkpoints
from .plan import Plan
from .run import StepState, TrainResult, TrainSettings
from .step import seeding
from .step.memory import StepResult, TokenBudget
from .step.processes import Processes, process_group
from .step.trainable import Trainable, backward, check_objective, join_gradients

__all__ = ["Callback", "Diverged", "Evaluator", "StepState", "TrainResult", "TrainSettings", "train"]

Evaluator = Callable[[Any], Mapping[str, float]]
"""Figures of a model, larger is better; the first decides which is best."""
Callback = Callable[[StepState], None]
FREE = ("checkpoint_every", "budget", "remember")
"""What of a run may change when it goes on: the gradient is the same, though dropout draws otherwise in pieces."""


class Diverged(LikewiseError, ArithmeticError):
    """The loss is no number; the last good checkpoint is kept."""


def train(
    embedder: Trainable,
    courses: Sequence[DataSource],
    run: TrainSettings | None = None,
    *,
    folder: Path | None = None,
    measure: Evaluator | None = None,
    tell: Sequence[Callback] = (),
    resume: bool = True,
    stop: Callable[[], bool] = lambda: False,
    about: Mapping[str, Any] | None = None,
) -> TrainResult:
    """Trains the embedder, or the reranker, in place; with a measure, it ends as the best that was measured.

    Under torchrun several processes train as one: `run.batch` rows are shared out among them, gradients are added up,
    and all end with the same weights. The first alone measures, tells and writes; each must call with the same data
    and settings, and see the same folder. torch's generators are the caller's again, as they were, at the end.

    Args:
        embedder: or a reranker; in fp32.
        courses: data, each with its objective.
        run: how.
        folder: of checkpoints; where one lies there of this very run, training goes on from it.
        measure: figures after each epoch or `measure_every` steps; the first decides.
        tell: is told every step.
        resume: False begins anew and takes away what checkpoints lie there.
        stop: asked after each step; at True the run writes a checkpoint and ends, `interrupted`.
        about: what else must be the same for a run to go on: digests of data, the backbone's fingerprint.

    Raises:
        BadInput: data do not fit, or the folder holds a checkpoint of another run, or cannot be written to, or a
            batch cannot be shared out evenly.
        Diverged: the loss is not finite.
    """
    run = run or TrainSettings()
    with process_group() as processes, seeding.borrowed_generators(embedder.device):
        seeding.seed(embedder.device, max(0, run.seed))  # of fresh weights; one below 0 is refused with the plan
        with prepared_for_training(embedder, run):
            return _Training(embedder, courses, run, folder, measure, tell, about or {}, processes).go(resume, stop)


class _Training:
    """One run while it runs."""

    def __init__(
        self,
        embedder: Trainable,
        courses: Sequence[DataSource],
        run: TrainSettings,
        folder: Path | None,
        measure: Evaluator | None,
        tell: Sequence[Callback],
        about: Mapping[str, Any],
        processes: Processes,
    ) -> None:
        self.embedder, self.run, self.folder, self.measure, self.tell = embedder, run, folder, measure, tell
        if embedder.precision != "fp32":
            raise BadInput(f'the model is in {embedder.precision}; load it with precision="fp32" to train it')
        self.objectives = list(dict.fromkeys(course.objective for course in courses))
        for objective in self.objectives:
            check_objective(embedder, objective)
            objective.to(embedder.device)
        self.processes = processes
        self.measures: bool = processes.told(measure is not None)
        self.curriculum = BatchSchedule(courses, run.batch, run.seed, run.mix)
        self.plan = Plan.of(self.curriculum, run, processes)
        processes.alike(t for module in (embedder, *self.objectives) for t in module.state_dict().values())
        self.weights = {name: p for name, p in embedder.named_parameters() if p.requires_grad}
        if not self.weights and not any(p.requires_grad for o in self.objectives for p in o.parameters()):
            raise BadInput("everything is frozen, so there is nothing to train")
        self.optimizer = optimization.make_optimizer(embedder, self.objectives, run.optimization)
        self.average = EMA(self.weights, run.ema) if run.ema else None
        self.budget = TokenBudget(run.budget)
        self.dtype = {"fp32": None, "bf16": torch.bfloat16}[run.precision]
        rows = (
            [rows_digest(c.rows) if isinstance(c.rows, TrainingRows) else None for c in courses]
            if folder is not None
            else []
        )
        self.about = {**about, "rows": rows, "processes": processes.count, "frozen": self._frozen()}
        self.step, self.saved, self.seconds, self.waited, self.began = 0, -1, 0.0, 0, 0.0
        self.best: float | None = None
        self.best_step: int | None = None
        self.best_weights: dict[str, Tensor] | None = None

    def go(self, resume: bool, stop: Callable[[], bool]) -> TrainResult:
        self._resume() if resume else self._clear()
        if self.processes.any(self.step != self.processes.told(self.step)):
            raise BadInput(f"not all processes found the same checkpoint in {self.folder}; they must see one folder")
        self.embedder.train()
        self.began = time.perf_counter() - self.seconds
        ended, stopped = self._waited_enough(), False
        batches = self.curriculum.batches(self.step * self.run.accumulate, self.plan.steps * self.run.accumulate)
        while self.step < self.plan.steps and not ended and not stopped:
            moment = self._step(list(islice(batches, self.run.accumulate)))
            self._tell(moment)
            ended = self._waited_enough()
            stopped = self.processes.any(stop()) and self.step < self.plan.steps and not ended
            if ended or stopped or self._due(self.run.checkpoint_every):
                self._save()
        self.embedder.eval()
        if not stopped:
            self._finish()
        counts = {"trained": sum(p.numel() for p in self._parameters()), "parameters": self._size()}
        return TrainResult(self.step, self.seconds, self.best, self.best_step, ended, stopped, **counts)

    def _step(self, batches: Sequence[tuple[DataSource, Batch]]) -> StepState:
        rate = optimization.learning_rate_factor(self.step, self.plan.steps, self.run.optimization)
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * rate
        self.optimizer.zero_grad()
        seeding.seed(self.embedder.device, self.run.seed, self.step, self.processes.rank)
        took = [self._backward(course, batch, 1 / len(batches)) for course, batch in batches]
        join_gradients(self.embedder, self.objectives, self.processes)
        clip = self.run.optimization.clip or math.inf
        norm = float(nn.utils.clip_grad_norm_(self._parameters(), clip))
        if not math.isfinite(norm):
            self._diverged(batches[-1][1], norm, "norm of the gradient")
        self.optimizer.step()
        self.step += 1
        if self.average is not None:
            self.average.update(self.step)
        scores = self._measured() if self.measures and self._due(self.plan.measure_every) else {}
        self.seconds = time.perf_counter() - self.began
        loss, tokens = sum(t.loss for t in took) / len(took), self.processes.total(sum(t.tokens for t in took))
        rows, lr = sum(len(batch) for _, batch in batches), self.run.optimization.rate * rate
        epoch = self.step / self.plan.steps_of_epoch if self.plan.steps_of_epoch else 0.0
        return StepState(
            self.step, self.plan.steps, epoch, loss, lr, norm, rows, tokens, self.seconds, scores, self.best
        )

    def _backward(self, course: DataSource, batch: Batch, share: float) -> StepResult:
        own = batch.take(range(len(batch))[self.processes.own(len(batch))])
        took = backward(
            self.embedder,
            course.objective,
            own,
            budget=self.budget,
            dtype=self.dtype,
            share=share,
            processes=self.processes,
        )
        if not math.isfinite(took.loss):
            self._diverged(batch, took.loss, "loss")
        return took

    def _measured(self) -> Mapping[str, float]:
        """The leader's measure now; the best weights so far are held on to."""
        scores: Mapping[str, float] = self.processes.told(self._scores() if self.processes.leads else None)
        if not scores:
            raise BadInput("the measure gave no figure; wanted at least one, by name")
        value = next(iter(scores.values()))
        self.waited += 1
        if not math.isnan(value) and (self.best is None or value > self.best):
            self.best, self.best_step, self.waited = value, self.step, 0
            self.best_weights = {name: t.detach().clone() for name, t in self._measurable().items()}
        return scores

    def _scores(self) -> dict[str, float]:
        assert self.measure is not None
        with self.average.applied() if self.average is not None else nullcontext():
            scores = self.measure(self.embedder.eval())
        self.embedder.train()
        return {name: float(value) for name, value in scores.items()}

    def _measurable(self) -> Mapping[str, Tensor]:
        """The weights that are measured and remain."""
        return self.weights if self.average is None else self.average.mean

    def _finish(self) -> None:
        copy_weights(self.best_weights if self.best_weights is not None else dict(self._measurable()), self.weights)

    def _waited_enough(self) -> bool:
        """Whether so many measures in a row brought nothing better that the run ends before its last step."""
        return 0 < self.run.patience <= self.waited and self.step < self.plan.steps

    def _due(self, every: int) -> bool:
        return self.step == self.plan.steps or (every > 0 and self.step % every == 0)

    def _tell(self, moment: StepState) -> None:
        for told in self.tell if self.processes.leads else ():
            told(moment)

    def _diverged(self, batch: Batch, value: float, what: str) -> None:
        where = ""
        if self.folder is not None and self.processes.leads:
            path = self.folder / f"diverged-step-{self.step + 1}.json"
            numbers = {name: values.tolist() for name, values in batch.numbers.items()}
            told = {what: str(value), "texts": batch.texts, "numbers": numbers}
            with suppress(OSError, BadInput), atomic_file(path) as partial:  # a full disk must not hide what went wrong
                partial.write_text(json.dumps(told), "utf-8")
                where = f"; its last batch is in {path}"
        raise Diverged(f"the {what} of step {self.step + 1} is {value}{where}. A lower rate, or clipping, may help")

    def _parameters(self) -> list[nn.Parameter]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def _size(self) -> int:
        return sum(p.numel() for module in (self.embedder, *self.objectives) for p in module.parameters())

    def _tensors(self) -> dict[str, Mapping[str, Tensor]]:
        """What a checkpoint holds: trained weights, the objectives' own, the mean, the best so far."""
        own = {f"objective-{i}": o.state_dict() for i, o in enumerate(self.objectives) if o.state_dict()}
        mean = {} if self.average is None else {"mean": self.average.mean}
        best = {} if self.best_weights is None else {"best": self.best_weights}
        return {"model": self.weights, **own, **mean, **best}

    def _save(self) -> None:
        if self.folder is None or self.saved == self.step or not self.processes.leads:
            return
        told = ("step", "seconds", "best", "best_step", "waited")
        state = {name: getattr(self, name) for name in told}
        state |= {"budget": self.budget.tokens, "run": self._identity()}
        checkpoints.save_checkpoint(self.folder, self._tensors(), self.optimizer, state)
        self.saved = self.step

    def _resume(self) -> None:
        found = None if self.folder is None else checkpoints.latest_checkpoint(self.folder)
        if found is None:
            return
        checkpoints.check_same_run(found, self._identity())
        tensors = checkpoints.restore_checkpoint(found, self._tensors(), self.optimizer)
        self.best_weights = tensors.get("best")
        if self.best_weights is not None:
            self.best_weights = {name: t.to(self.embedder.device) for name, t in self.best_weights.items()}
        self.step = self.saved = found.step
        state = found.state
        self.seconds, self.waited = state["seconds"], state["waited"]
        self.best, self.best_step = state["best"], state["best_step"]
        if self.run.budget is None:  # halved, it may be, where memory ran out
            self.budget.tokens = state.get("budget")

    def _clear(self) -> None:
        if self.folder is not None and self.processes.leads:
            checkpoints.clear_checkpoints(self.folder)

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on."""
        courses = [[c.name, c.size, c.objective.describe()] for c in self.curriculum.courses]
        run = {name: value for name, value in asdict(self.run).items() if name not in FREE}
        identity: dict[str, Any] = json.loads(json.dumps({"run": run, "courses": courses, **self.about}))
        return identity

    def _frozen(self) -> str | None:
        """A digest of the weights that stay, which no checkpoint holds."""
        held = {name: t for name, t in self.embedder.state_dict().items() if name not in self.weights}
        return fingerprint([], held) if held else None
