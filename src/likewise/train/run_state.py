"""The state of a run, and how its checkpoints are saved, resumed from and deleted."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import BadInput
from .objectives import Objective
from .optimizer import EMA, copy_weights
from .output import checkpoint as checkpoints
from .step.memory import TokenBudget


@dataclass(eq=False)
class BestModel:
    """Keeps a copy of the weights with the highest score; NaN is never the best score."""

    score: float | None = None
    step: int | None = None
    weights: dict[str, Tensor] | None = None
    evaluations_since: int = 0

    def update(self, score: float, step: int, weights: Mapping[str, Tensor]) -> None:
        self.evaluations_since += 1
        if not math.isnan(score) and (self.score is None or score > self.score):
            self.score, self.step, self.evaluations_since = score, step, 0
            self.weights = {name: tensor.detach().clone() for name, tensor in weights.items()}

    def out_of_patience(self, patience: int) -> bool:
        """Whether this many evaluations in a row gave no new best score; always False if the patience is 0."""
        return 0 < patience <= self.evaluations_since

    def as_json(self) -> dict[str, Any]:
        """Everything except the weights, for a checkpoint."""
        return {"score": self.score, "step": self.step, "evaluations_since": self.evaluations_since}

    def restore(self, state: Mapping[str, Any], weights: Mapping[str, Tensor] | None, device: torch.device) -> None:
        self.score, self.step, self.evaluations_since = state["score"], state["step"], state["evaluations_since"]
        self.weights = None if weights is None else {name: tensor.to(device) for name, tensor in weights.items()}


@dataclass(eq=False, kw_only=True)
class RunState:
    """Everything a checkpoint must hold for a run to continue as if it had not stopped."""

    weights: Mapping[str, nn.Parameter]  # only the trained ones
    objectives: Sequence[Objective]
    optimizer: torch.optim.Optimizer
    ema: EMA | None
    token_budget: TokenBudget
    negatives: Mapping[str, Tensor] = field(default_factory=dict)  # the mined negatives, as indices of candidate texts
    best: BestModel = field(default_factory=BestModel)
    step: int = 0
    seconds: float = 0.0
    initial_scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The weights that the optimizer updates, including the objectives' own."""
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    @property
    def evaluated_weights(self) -> Mapping[str, Tensor]:
        """The weights that are evaluated and saved: the moving average if enabled, otherwise the current weights."""
        return self.weights if self.ema is None else self.ema.mean

    def keep_best(self) -> None:
        """Copy the best weights into the model or, without evaluations, the last ones."""
        copy_weights(self.best.weights or dict(self.evaluated_weights), self.weights)

    def tensors(self) -> dict[str, Mapping[str, Tensor]]:
        """A checkpoint's tensors by file: trained weights, objectives' weights, moving average, best weights so far."""
        own = {f"objective-{i}": o.state_dict() for i, o in enumerate(self.objectives) if o.state_dict()}
        mean = {} if self.ema is None else {"ema": self.ema.mean}
        best = {} if self.best.weights is None else {"best": self.best.weights}
        mined = {"negatives": self.negatives} if self.negatives else {}
        return {"model": self.weights, **own, **mean, **best, **mined}

    def as_json(self) -> dict[str, Any]:
        """The rest of a checkpoint."""
        return {
            "step": self.step,
            "seconds": self.seconds,
            "initial_scores": dict(self.initial_scores),
            "best": self.best.as_json(),
            "max_tokens_per_step": self.token_budget.tokens,
        }

    def restore(self, checkpoint: checkpoints.Checkpoint, device: torch.device, tokens: int | None) -> None:
        """Continue from a checkpoint; `tokens`, if given, replaces the saved token budget."""
        others = checkpoints.restore_checkpoint(checkpoint, self.tensors(), self.optimizer)
        state = checkpoint.state
        self.step, self.seconds, self.initial_scores = state["step"], state["seconds"], state["initial_scores"]
        self.best.restore(state["best"], others.get("best"), device)
        if tokens is None:  # the saved budget may have been halved when memory ran out
            self.token_budget.tokens = state["max_tokens_per_step"]


@dataclass(eq=False)
class RunCheckpoints:
    """The checkpoints of one run in one folder; without a folder, nothing is saved. Only one process `writes`."""

    folder: Path | None
    identity: Mapping[str, Any]  # must match for a run to resume
    writes: bool

    def save(self, state: RunState) -> None:
        if self.folder is not None and self.writes:
            content = {**state.as_json(), "run": self.identity}
            checkpoints.save_checkpoint(self.folder, state.tensors(), state.optimizer, content)

    def resume(self, state: RunState, device: torch.device, tokens: int | None) -> None:
        latest = None if self.folder is None else checkpoints.latest_checkpoint(self.folder)
        if latest is not None:
            if self.identity != latest.state["run"]:
                raise BadInput(
                    f"{latest.folder} is a checkpoint of another run: "
                    f"{checkpoints.first_difference(self.identity, latest.state['run'])}. "
                    "Use another folder, or start over in this one (resume=False, --fresh)"
                )
            state.restore(latest, device, tokens)

    def clear(self) -> None:
        if self.folder is not None and self.writes:
            checkpoints.clear_checkpoints(self.folder)
