"""The training loop: batches, steps, measures, checkpoints. One can read it.

>>> train(embedder, [Course(Rows.of(columns, objective), objective)], Run(epochs=1))  # doctest: +SKIP
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..embedder import Embedder
from ..errors import BadInput, LikewiseError
from ..store.files import atomic
from . import checkpoint as checkpoints
from . import optimizer as optimization
from .optimizer import Optimization
from .rows import Batch
from .schedule import Course, Curriculum, Mix
from .step import Budget, backward

Measure = Callable[[Embedder], Mapping[str, float]]
"""Figures of a model, larger is better; the first decides which is best."""
Told = Callable[["Moment"], None]


class Diverged(LikewiseError, ArithmeticError):
    """The loss is no number; the last good checkpoint is kept."""


@dataclass(frozen=True)
class Run:
    """How to train."""

    epochs: float = 1.0
    steps: int | None = None  # instead of epochs
    batch: int = 16  # rows
    budget: int | None = None  # tokens in flight; with more, a step is worked off in pieces, to the same gradient
    precision: str = "fp32"  # of the products; weights and moments stay fp32
    optimization: Optimization = field(default_factory=Optimization)
    seed: int = 0
    mix: Mix = "proportional"
    measure_every: int = 0  # steps; 0: at the end of each epoch
    checkpoint_every: int = 500  # steps; 0: only at the end
    patience: int = 0  # measures without a new best before it stops; 0: never


@dataclass(frozen=True)
class Moment:
    """One step, as it is told to logs and to people."""

    step: int
    steps: int
    epoch: float
    loss: float
    rate: float
    norm: float
    rows: int
    tokens: int
    seconds: float
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """A finished run: the steps made, the best measure and when, and whether it ended early."""

    steps: int
    seconds: float
    best: float | None
    best_step: int | None
    stopped_early: bool


def train(
    embedder: Embedder,
    courses: Sequence[Course],
    run: Run | None = None,
    *,
    folder: Path | None = None,
    measure: Measure | None = None,
    tell: Sequence[Told] = (),
    resume: bool = True,
) -> Outcome:
    """Trains the embedder in place; with a measure, it ends as the best that was measured.

    Args:
        embedder: in fp32.
        courses: data, each with its objective.
        run: how.
        folder: of checkpoints; where one lies there of this very run, training goes on from it.
        measure: figures after each epoch or `measure_every` steps; the first decides.
        tell: is told every step.
        resume: False begins anew, whatever lies there.

    Raises:
        BadInput: data do not fit, or the folder holds a checkpoint of another run.
        Diverged: the loss is not finite.
    """
    return _Training(embedder, courses, run or Run(), folder, measure, tell).go(resume)


class _Training:
    """One run while it runs."""

    def __init__(
        self,
        embedder: Embedder,
        courses: Sequence[Course],
        run: Run,
        folder: Path | None,
        measure: Measure | None,
        tell: Sequence[Told],
    ) -> None:
        self.embedder, self.run, self.folder, self.measure, self.tell = embedder, run, folder, measure, tell
        if embedder.precision != "fp32":
            raise BadInput(f'the model is in {embedder.precision}; load it with precision="fp32" to train it')
        torch.manual_seed(run.seed)
        self.objectives = list(dict.fromkeys(course.objective for course in courses))
        for objective in self.objectives:
            objective.fit_to(embedder.width, embedder.encoder.vocabulary)
            objective.to(embedder.device)
        self.curriculum = Curriculum(courses, run.batch, run.seed, run.mix)
        self.steps = run.steps or max(1, round(run.epochs * self.curriculum.steps_of_epoch))
        self.every = run.measure_every or self.curriculum.steps_of_epoch
        self.optimizer = optimization.make(embedder, self.objectives, run.optimization)
        self.budget = Budget(run.budget)
        self.dtype = {"fp32": None, "bf16": torch.bfloat16}[run.precision]
        self.step, self.seconds = 0, 0.0
        self.best: float | None = None
        self.best_step: int | None = None
        self.waited = 0
        self.best_weights: dict[str, torch.Tensor] | None = None

    def go(self, resume: bool) -> Outcome:
        if resume and self.folder is not None:
            self._resume()
        self.embedder.train()
        began = time.perf_counter() - self.seconds
        stopped = False
        for course, batch in self.curriculum.batches(self.step, self.steps):
            moment = self._step(course, batch)
            self.seconds = time.perf_counter() - began
            self._tell(moment)
            stopped = bool(self.run.patience) and self.waited >= self.run.patience
            if stopped or self._due(self.run.checkpoint_every):
                self._save()
            if stopped:
                break
        self.embedder.eval()
        if self.best_weights is not None:
            self.embedder.load_state_dict(self.best_weights)
        return Outcome(self.step, self.seconds, self.best, self.best_step, stopped)

    def _step(self, course: Course, batch: Batch) -> Moment:
        rate = optimization.rate_at(self.step, self.steps, self.run.optimization)
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * rate
        self.optimizer.zero_grad()
        took = backward(self.embedder, course.objective, batch, budget=self.budget, dtype=self.dtype)
        if not math.isfinite(took.loss):
            self._diverged(batch, took.loss)
        clip = self.run.optimization.clip or math.inf
        norm = float(nn.utils.clip_grad_norm_(self._parameters(), clip))
        self.optimizer.step()
        self.step += 1
        scores = self._measured() if self.measure is not None and self._due(self.every) else {}
        epoch = self.step / self.curriculum.steps_of_epoch
        lr = self.run.optimization.rate * rate
        return Moment(self.step, self.steps, epoch, took.loss, lr, norm, len(batch), took.tokens, self.seconds, scores)

    def _measured(self) -> Mapping[str, float]:
        """The measure now; the best weights so far are held on to."""
        assert self.measure is not None
        scores = self.measure(self.embedder.eval())
        self.embedder.train()
        if not scores:
            raise BadInput("the measure gave no figure; wanted at least one, by name")
        value = float(next(iter(scores.values())))
        self.waited += 1
        if self.best is None or value > self.best:
            self.best, self.best_step, self.waited = value, self.step, 0
            self.best_weights = {name: t.detach().clone() for name, t in self.embedder.state_dict().items()}
        return scores

    def _due(self, every: int) -> bool:
        return self.step == self.steps or (every > 0 and self.step % every == 0)

    def _tell(self, moment: Moment) -> None:
        for told in self.tell:
            told(moment)

    def _diverged(self, batch: Batch, loss: float) -> None:
        where = ""
        if self.folder is not None:
            path = self.folder / f"diverged-step-{self.step}.json"
            with atomic(path) as partial:
                numbers = {name: values.tolist() for name, values in batch.numbers.items()}
                partial.write_text(json.dumps({"loss": str(loss), "texts": batch.texts, "numbers": numbers}), "utf-8")
            where = f"; the batch is in {path}"
        raise Diverged(f"the loss of step {self.step} is {loss}{where}. A lower rate, or clipping, may help")

    def _parameters(self) -> list[nn.Parameter]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    @property
    def _modules(self) -> dict[str, nn.Module]:
        named = {f"objective-{i}": o for i, o in enumerate(self.objectives) if list(o.parameters())}
        return {"model": self.embedder, **named}

    def _save(self) -> None:
        if self.folder is None:
            return
        state = {
            "step": self.step,
            "seconds": self.seconds,
            "best": self.best,
            "best_step": self.best_step,
            "waited": self.waited,
            "run": self._identity(),
        }
        extra = {} if self.best_weights is None else {"best": self.best_weights}
        checkpoints.save(self.folder, self._modules, self.optimizer, state, extra)

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on."""
        courses = [[c.name, len(c.rows), c.objective.describe()] for c in self.curriculum.courses]
        run = {name: value for name, value in asdict(self.run).items() if name not in ("checkpoint_every", "budget")}
        identity: dict[str, Any] = json.loads(json.dumps({"run": run, "courses": courses}))
        return identity

    def _resume(self) -> None:
        assert self.folder is not None
        found = checkpoints.latest(self.folder)
        if found is None:
            return
        ours, theirs = self._identity(), found.state["run"]
        if ours != theirs:
            raise BadInput(
                f"{found.folder} is a checkpoint of another run: {_first_difference(ours, theirs)}. "
                "Give another folder, or begin anew there (resume=False)"
            )
        self.best_weights = checkpoints.restore(found, self._modules, self.optimizer).get("best")
        state = found.state
        self.step, self.seconds, self.waited = found.step, state["seconds"], state["waited"]
        self.best, self.best_step = state["best"], state["best_step"]


def _first_difference(ours: Any, theirs: Any, path: str = "") -> str:
    """Where two descriptions part."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*ours, *theirs]:
            if ours.get(key) != theirs.get(key):
                return _first_difference(ours.get(key), theirs.get(key), f"{path}.{key}".strip("."))
    return f"{path} was {theirs!r} and is {ours!r}"
