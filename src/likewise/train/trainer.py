"""The training loop: batches, steps, evaluations, checkpoints.

>>> Trainer(model=embedder, data=[DataSource(rows, objective)]).run()  # doctest: +SKIP
"""

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..encoders import torch_internals
from ..encoders.checkpoint import state_digest
from ..engines.torch.torch_embedder import TorchEmbedder
from ..errors import BadInput, BadModel, LikewiseError
from .data.batch import Batch, TrainingRows
from .data.schedule import BatchSchedule, DataSource, Schedule
from .data.sources import rows_digest
from .optimizer import EMA, learning_rate_factor, make_optimizer
from .output.checkpoint import through_json
from .plan import Plan, check_evaluated
from .run_state import RunCheckpoints, RunState
from .settings import TrainSettings
from .step import seeding
from .step.memory import StepOptions, StepResult, TokenBudget
from .step.processes import Processes, process_group
from .step.trainable import Trainable, backward, check_objective, join_gradients
from .step_state import StepState, TrainResult
from .trained_parts import prepared_for_training

Evaluator = Callable[[Any], Mapping[str, float]]
"""Returns a model's scores by name; higher is better, and the first score decides which model is best."""
Callback = Callable[[StepState], None]
"""Called after each step and, if there is an evaluator, before the first step (as step 0)."""
RateFactor = Callable[[int, int, TrainSettings], float]
"""Maps (step, number of steps, settings) to the step's learning rate as a fraction of the peak."""

SLOW_BF16 = (
    "this processor has no native bf16 matrix multiplication, and torch's emulation takes several times as long as "
    'fp32: leave out --precision (precision="fp32"), unless you want bf16 rounding'
)


class Diverged(LikewiseError, ArithmeticError):
    """The loss, the gradient, a weight or the model's output is NaN or infinite; the last good checkpoint is kept."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Trainer:
    """One training run. It updates the model in place; `likewise.train.train` also saves it.

    Under torchrun, several processes train as one: each batch is split among them, gradients are summed, and all
    processes end with the same weights. Only the first process evaluates, calls callbacks and writes files. Every
    process must be started with the same data and settings, and must see the same folder. At the end, the state of
    torch's random generators is restored. The evaluator scores the model before the first step, then after each epoch
    or every `eval_steps` steps; the model ends with the weights that scored best during training.
    """

    model: Trainable  # in fp32
    data: Sequence[DataSource]
    settings: TrainSettings = field(default_factory=TrainSettings)
    evaluator: Evaluator | None = None
    callbacks: Sequence[Callback] = ()
    checkpoint_folder: Path | None = None  # training resumes from a checkpoint here of the same run
    identity: Mapping[str, Any] = field(default_factory=dict)  # must also match for a run to resume
    schedule: Schedule | None = None  # the batches of each step; by default, a `BatchSchedule`
    rate_factor: RateFactor = learning_rate_factor
    make_checkpoints: Callable[..., RunCheckpoints] = RunCheckpoints

    def run(self, *, resume: bool = True, stop: Callable[[], bool] = lambda: False) -> TrainResult:
        """Train; with `resume=False`, delete the folder's checkpoints first.

        `stop` is called after each step; if it returns True, the run writes a checkpoint and ends as `interrupted`.

        Raises:
            Diverged: the loss, a weight or the model's output is NaN or infinite.
        """
        device = self.model.device
        with process_group() as processes, seeding.borrowed_generators(device):
            seeding.seed(device, max(0, self.settings.seed))  # for new weights; the plan rejects negative seeds
            try:
                with prepared_for_training(self.model, self.settings):
                    return _TrainingLoop(self, processes).run(resume, stop)
            finally:
                self.model.eval()  # after an error too: with dropout, encoding would be random


class _TrainingLoop:
    def __init__(self, trainer: Trainer, processes: Processes) -> None:
        self.trainer, self.model, self.settings, self.processes = trainer, trainer.model, trainer.settings, processes
        if self.model.precision != "fp32":
            raise BadInput(f'the model is in {self.model.precision}; load it with precision="fp32" to train it')
        self.mined = [source.mined for source in trainer.data if source.mined is not None]
        self.objectives = list(dict.fromkeys(source.objective for source in trainer.data))
        for objective in self.objectives:
            check_objective(self.model, objective)
            objective.to(self.model.device)
        self.evaluates: bool = processes.broadcast(trainer.evaluator is not None)
        settings = self.settings
        check_evaluated(settings, self.evaluates)
        self.schedule = trainer.schedule or BatchSchedule(
            trainer.data, settings.batch_size, settings.seed, settings.data_mixing
        )
        self.plan = Plan.of(self.schedule, settings, processes)
        processes.synchronize(t for module in (self.model, *self.objectives) for t in module.state_dict().values())
        self.state = self._initial_state()
        self.checkpoints = trainer.make_checkpoints(
            folder=trainer.checkpoint_folder, identity=self._identity(), writes=processes.is_main
        )
        dtype = {"fp32": None, "bf16": torch.bfloat16}[settings.precision]
        if dtype is not None and self.model.device.type == "cpu" and not torch_internals.HAS_BF16_PRODUCTS:
            warnings.warn(SLOW_BF16, stacklevel=2)
        self.step_options = StepOptions(self.state.token_budget, dtype, processes=processes)

    def _initial_state(self) -> RunState:
        weights = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        if not weights and not any(p.requires_grad for o in self.objectives for p in o.parameters()):
            raise BadInput("everything is frozen, so there is nothing to train")
        return RunState(
            weights=weights,
            objectives=self.objectives,
            optimizer=make_optimizer(self.model, self.objectives, self.settings),
            ema=EMA(weights, self.settings.ema_decay) if self.settings.ema_decay else None,
            token_budget=TokenBudget(self.settings.max_tokens_per_step),
            negatives={str(i): mined.chosen for i, mined in enumerate(self.mined)},
        )

    def run(self, resume: bool, stop: Callable[[], bool]) -> TrainResult:
        self._resume() if resume else self.checkpoints.clear()
        state = self.state
        self.started = time.perf_counter() - state.seconds
        if self.evaluates and state.step == 0:
            state.initial_scores = self._scores()  # the untrained model is never kept as the best one
            self._report(StepState(step=0, max_steps=self.plan.max_steps, scores=state.initial_scores))
        ended, stopped = self._out_of_patience(), False
        batches = self.schedule.steps(state.step, self.plan.max_steps, self.settings.gradient_accumulation_steps)
        while state.step < self.plan.max_steps and not ended and not stopped:
            self._mine_negatives()
            self._report(self._step(next(batches)))
            ended = self._out_of_patience()
            stopped = self.processes.any(stop()) and state.step < self.plan.max_steps and not ended
            if ended or stopped or self._due(self.settings.save_steps):
                self.checkpoints.save(state)
        if not stopped:
            state.keep_best()
        return self._result(stopped_early=ended, interrupted=stopped)

    def _result(self, *, stopped_early: bool, interrupted: bool) -> TrainResult:
        state = self.state
        return TrainResult(
            steps=state.step,
            seconds=state.seconds,
            initial_scores=state.initial_scores,
            best_score=state.best.score,
            best_step=state.best.step,
            stopped_early=stopped_early,
            interrupted=interrupted,
            trained_parameters=sum(p.numel() for p in state.parameters),
            parameters=sum(p.numel() for module in (self.model, *self.objectives) for p in module.parameters()),
        )

    def _mine_negatives(self) -> None:
        """Mine the negatives that are due before this step, with the current weights."""
        for mined in self.mined:
            if self.state.step % mined.every == 0:
                found = mined.mined(self.model.eval()) if self.processes.is_main else None  # type: ignore[arg-type]
                mined.chosen.copy_(torch.tensor(self.processes.broadcast(found)))

    def _step(self, batches: Sequence[tuple[DataSource, Batch]]) -> StepState:
        state, settings = self.state, self.settings
        self.model.train()  # mining, evaluators and callbacks switch to eval mode to encode
        factor = self.trainer.rate_factor(state.step, self.plan.max_steps, settings)
        for group in state.optimizer.param_groups:
            group["lr"] = group["peak_lr"] * factor
        state.optimizer.zero_grad()
        seeding.seed(self.model.device, settings.seed, state.step, self.processes.rank)
        results = [self._backward(source, batch, 1 / len(batches)) for source, batch in batches]
        join_gradients(self.model, self.objectives, self.processes)
        norm = float(nn.utils.clip_grad_norm_(state.parameters, settings.max_grad_norm or math.inf))
        if not math.isfinite(norm):
            raise _diverged(f"the norm of the gradient at step {state.step + 1} is {norm}")
        state.optimizer.step()
        state.step += 1
        if state.ema is not None:
            state.ema.update(state.step)
        is_evaluated = self.evaluates and self._due(self.plan.eval_steps)
        if is_evaluated or self._due(settings.save_steps):
            self._check_outputs(batches[0][1])
        scores = self._evaluate() if is_evaluated else {}
        state.seconds = time.perf_counter() - self.started
        return StepState(
            step=state.step,
            max_steps=self.plan.max_steps,
            epoch=state.step / self.plan.steps_per_epoch if self.plan.steps_per_epoch else 0.0,
            loss=sum(result.loss for result in results) / len(results),
            learning_rate=settings.learning_rate * factor,
            gradient_norm=norm,
            rows=sum(len(batch) for _, batch in batches),
            tokens=self.processes.sum(sum(result.tokens for result in results)),
            seconds=state.seconds,
            scores=scores,
            best_score=state.best.score,
        )

    def _backward(self, source: DataSource, batch: Batch, loss_scale: float) -> StepResult:
        local = batch.take(range(len(batch))[self.processes.local_rows(len(batch))])
        result = backward(self.model, source.objective, local, replace(self.step_options, loss_scale=loss_scale))
        if not math.isfinite(result.loss):
            raise _diverged(f"the loss at step {self.state.step + 1} is {result.loss}")
        return result

    def _check_outputs(self, batch: Batch) -> None:
        """Before evaluating or saving, check that the weights, and the outputs for one row, are finite."""
        model, texts = self.model.eval(), [column[0] for column in batch.texts]
        try:
            if isinstance(model, TorchEmbedder):
                model.encode(texts, show_progress_bar=False, overflow="truncate")
            else:
                model.logits(texts[:1], texts[1:2], show_progress_bar=False, overflow="truncate")
            is_finite = all(bool(torch.isfinite(p).all()) for p in self.state.parameters)
        except BadModel:  # an output is NaN or infinite
            is_finite = False
        if not is_finite:
            raise _diverged(f"after step {self.state.step}, weights or outputs of the model are NaN or infinite")

    def _evaluate(self) -> Mapping[str, float]:
        scores = self._scores()
        self.state.best.update(next(iter(scores.values())), self.state.step, self.state.evaluated_weights)
        return scores

    def _scores(self) -> Mapping[str, float]:
        local = None
        if self.processes.is_main:
            assert self.trainer.evaluator is not None
            with self.state.ema.applied() if self.state.ema is not None else nullcontext():
                local = self.trainer.evaluator(self.model.eval())
        scores: Mapping[str, float] = self.processes.broadcast(local)
        if not isinstance(scores, Mapping) or not scores:
            raise BadInput(
                f"the evaluator returned {scores!r:.80}; expected scores by name, such as {{'accuracy': 0.9}}"
            )
        return {name: float(value) for name, value in scores.items()}

    def _out_of_patience(self) -> bool:
        ended = self.state.best.out_of_patience(self.settings.early_stopping_patience)
        return ended and self.state.step < self.plan.max_steps

    def _due(self, every: int) -> bool:
        return self.state.step == self.plan.max_steps or (every > 0 and self.state.step % every == 0)

    def _report(self, step_state: StepState) -> None:
        for callback in self.trainer.callbacks if self.processes.is_main else ():
            callback(step_state)

    def _resume(self) -> None:
        self.checkpoints.resume(self.state, self.model.device, self.settings.max_tokens_per_step)
        if self.processes.any(self.state.step != self.processes.broadcast(self.state.step)):
            raise BadInput(
                f"the processes read different checkpoints from {self.trainer.checkpoint_folder}; "
                "all of them must see the same folder"
            )

    def _identity(self) -> dict[str, Any]:
        sources = self.trainer.data
        saves = self.trainer.checkpoint_folder is not None
        rows = [rows_digest(s.rows) if isinstance(s.rows, TrainingRows) else None for s in sources] if saves else []
        frozen = {name: t for name, t in self.model.state_dict().items() if name not in self.state.weights}
        identity = {  # checkpoints do not contain frozen weights
            "run": self.settings.identity(),
            "data_sources": [[s.name, s.size, s.objective.describe()] for s in sources],
            **self.trainer.identity,
            "rows": rows,
            "mined": [mined.describe() for mined in self.mined],
            "processes": self.processes.count,
            "frozen": state_digest(frozen, []) if frozen else None,
        }
        return through_json(identity)


def _diverged(found: str) -> Diverged:
    return Diverged(f"{found}. Try a lower learning rate or gradient clipping")
