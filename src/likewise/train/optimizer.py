"""AdamW with the options that matter for encoders, a learning-rate schedule, and a moving average of weights (EMA)."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..encoders.torch_internals import foreach
from ..errors import BadInput
from ..runtime.arguments import regular_expression
from .objectives import Objective
from .settings import LearningRateSchedule, TrainSettings
from .step.trainable import Trainable


def learning_rate_factor(step: int, max_steps: int, settings: TrainSettings) -> float:
    """The learning rate at this step (0, 1, …) as a fraction of the peak."""
    warmup = settings.warmup_ratio * max_steps
    warmup = warmup if warmup >= 1 else 0.0  # a shorter warm-up would be one step at learning rate 0
    if step < warmup:
        return (step + 1) / (warmup + 1) if settings.lr_schedule != "linear" else step / warmup
    return DECAY[settings.lr_schedule]((step - warmup) / (max_steps - warmup))


DECAY: Mapping[LearningRateSchedule, Callable[[float], float]] = {
    "linear": lambda done: max(0.0, 1 - done),
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "constant": lambda done: 1.0,  # noqa: ARG005
}
"""The learning rate after the warm-up, as a fraction of the peak, given the share of post-warm-up steps done."""


def make_optimizer(model: Trainable, objectives: list[Objective], settings: TrainSettings) -> torch.optim.Optimizer:
    """An optimizer over all parameters that require gradients."""
    groups = [group for group in _parameter_groups(model, objectives, settings) if group["params"]]
    rate, betas, eps = settings.learning_rate, settings.adam_betas, settings.adam_epsilon
    if settings.adam_bias_correction:
        return torch.optim.AdamW(groups, lr=rate, betas=betas, eps=eps, fused=True)
    return AdamWithoutCorrection(groups, lr=rate, betas=betas, eps=eps)


def _parameter_groups(
    model: Trainable, objectives: list[Objective], settings: TrainSettings
) -> Iterator[dict[str, Any]]:
    depth = model.encoder.depth
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    by_pattern = _by_pattern(named, settings.learning_rates)
    apart = {name for matched in by_pattern.values() for name, _ in matched}
    levels = {name: _level(name, depth) for name, _ in named if name not in apart}
    for level in sorted(set(levels.values())):
        rate = settings.learning_rate * settings.layer_lr_decay ** (depth + 1 - level)
        yield from _by_weight_decay([(name, p) for name, p in named if levels.get(name) == level], rate, settings)
    for pattern, matched in by_pattern.items():
        yield from _by_weight_decay(matched, settings.learning_rates[pattern], settings)
    own = [(name, p) for objective in objectives for name, p in objective.named_parameters() if p.requires_grad]
    own_rate = settings.objective_learning_rate
    yield from _by_weight_decay(own, settings.learning_rate if own_rate is None else own_rate, settings)


def _by_pattern(
    named: list[tuple[str, nn.Parameter]], rates: Mapping[str, float]
) -> dict[str, list[tuple[str, nn.Parameter]]]:
    """The weights whose names match each regular expression; the last expression that matches a weight wins."""
    found: dict[str, list[tuple[str, nn.Parameter]]] = {pattern: [] for pattern in rates}
    for pattern in rates:
        searched = regular_expression("learning_rates", pattern)
        if not any(searched.search(name) for name, _ in named):
            names = ", ".join(name for name, _ in named[:: max(1, len(named) // 4)])
            raise BadInput(
                f"learning_rates has {pattern!r}, which matches no trained weight; trained weights include {names}"
            )
    for name, p in named:
        last = next((pattern for pattern in reversed([*rates]) if re.search(pattern, name)), None)
        if last is not None:
            found[last].append((name, p))
    return found


def _by_weight_decay(
    named: list[tuple[str, nn.Parameter]], peak_lr: float, settings: TrainSettings
) -> Iterator[dict[str, Any]]:
    rates = {"lr": peak_lr, "peak_lr": peak_lr}
    yield {"params": [p for _, p in named if p.ndim > 1], **rates, "weight_decay": settings.weight_decay}
    yield {"params": [p for _, p in named if p.ndim <= 1], **rates, "weight_decay": 0.0}


def _level(name: str, depth: int) -> int:
    """0 for the embeddings, 1 … depth for blocks, depth + 1 for pooling and heads."""
    parts = name.split(".")
    if parts[0] != "encoder" or "last_norm" in parts:
        return depth + 1
    if "blocks" in parts:
        return 1 + int(parts[parts.index("blocks") + 1])
    return 0


class AdamWithoutCorrection(torch.optim.Optimizer):
    """Adam with decoupled weight decay and without bias correction of its moments, as used to train BERT."""

    def __init__(self, params: Any, lr: float, betas: tuple[float, float], eps: float) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        for group in self.param_groups:
            parameters: list[Tensor] = [p for p in group["params"] if p.grad is not None]
            if parameters:
                self._step(parameters, group)

    def _step(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        for p in parameters:
            if not self.state[p]:
                self.state[p] = {"exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
        (first, second), rate = group["betas"], group["lr"]
        gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
        means = [self.state[p]["exp_avg"] for p in parameters]
        squares = [self.state[p]["exp_avg_sq"] for p in parameters]
        foreach("lerp_", means, gradients, 1 - first)
        foreach("mul_", squares, second)
        foreach("addcmul_", squares, gradients, gradients, 1 - second)
        sizes = foreach("sqrt", squares)
        foreach("add_", sizes, group["eps"])
        foreach("addcdiv_", parameters, means, sizes, -rate)
        if group["weight_decay"]:  # after the step, as in the authors' code
            foreach("mul_", parameters, 1 - rate * group["weight_decay"])


class EMA:
    """mean ← d · mean + (1 − d) · weights after each step, with d = min(decay, (1 + step) / (10 + step)).

    In the first steps d is smaller, so the average forgets the initial weights sooner, as in TensorFlow's
    ExponentialMovingAverage.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], decay: float) -> None:
        self.weights, self.decay = weights, decay
        self.mean: dict[str, Tensor] = {name: p.detach().clone() for name, p in weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Update the average with the weights after this step (1, 2, …)."""
        decay = min(self.decay, (1 + step) / (10 + step))
        foreach("lerp_", list(self.mean.values()), [p.detach() for p in self.weights.values()], 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        current = {name: p.detach().clone() for name, p in self.weights.items()}
        copy_weights(self.mean, self.weights)
        try:
            yield
        finally:
            copy_weights(current, self.weights)


@torch.no_grad()
def copy_weights(values: Mapping[str, Tensor], weights: Mapping[str, nn.Parameter]) -> None:
    for name, weight in weights.items():
        weight.copy_(values[name])
