"""AdamW with the choices that matter for encoders, and how its rate moves."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ...encoders.torch_internals import (
    add_each,
    add_products,
    add_quotients,
    lerp_each,
    multiply_each,
    square_roots,
)
from ..objectives import Objective
from ..run import Optimization
from ..step.trainable import Trainable


def learning_rate_factor(step: int, steps: int, how: Optimization) -> float:
    """The share of the rate in step 0, 1, …"""
    warm = how.warmup * steps if how.warmup * steps >= 1 else 0.0  # a shorter one would be a step at rate 0
    if step < warm:
        return (step + 1) / (warm + 1) if how.schedule != "linear" else step / max(warm, 1)
    if how.schedule == "constant":
        return 1.0
    done = (step - warm) / max(steps - warm, 1)
    return (1 + math.cos(math.pi * done)) / 2 if how.schedule == "cosine" else max(0.0, 1 - done)


def make_optimizer(embedder: Trainable, objectives: list[Objective], how: Optimization) -> torch.optim.Optimizer:
    """An optimizer over whatever asks for gradients."""
    groups = [group for group in _groups(embedder, objectives, how) if group["params"]]
    if how.bias_correction:
        return torch.optim.AdamW(groups, lr=how.rate, betas=how.betas, eps=how.eps, fused=True)
    return AdamWithoutCorrection(groups, lr=how.rate, betas=how.betas, eps=how.eps)


def _groups(embedder: Trainable, objectives: list[Objective], how: Optimization) -> Iterator[dict[str, Any]]:
    depth = embedder.encoder.depth
    named = [(name, p) for name, p in embedder.named_parameters() if p.requires_grad]
    for level in range(depth + 2):  # embeddings, blocks, what is above
        rate = how.rate * how.layer_decay ** (depth + 1 - level)
        here = [(name, p) for name, p in named if _level(name, depth) == level]
        yield from _by_decay(here, rate, how)
    own = [(name, p) for objective in objectives for name, p in objective.named_parameters() if p.requires_grad]
    yield from _by_decay(own, how.rate if how.objective_rate is None else how.objective_rate, how)


def _by_decay(named: list[tuple[str, nn.Parameter]], rate: float, how: Optimization) -> Iterator[dict[str, Any]]:
    matrices = [p for name, p in named if p.ndim > 1]
    yield {"params": matrices, "lr": rate, "rate": rate, "weight_decay": how.decay}
    yield {"params": [p for name, p in named if p.ndim <= 1], "lr": rate, "rate": rate, "weight_decay": 0.0}


def _level(name: str, depth: int) -> int:
    """0 for the embeddings, 1 … depth for blocks, depth + 1 for pooling and heads."""
    parts = name.split(".")
    if parts[0] != "encoder" or "last_norm" in parts:
        return depth + 1
    if "blocks" in parts:
        return 1 + int(parts[parts.index("blocks") + 1])
    return 0


class AdamWithoutCorrection(torch.optim.Optimizer):
    """Adam with decoupled decay, whose moments are not corrected for their start at zero (as BERT was trained)."""

    def __init__(self, params: Any, lr: float, betas: tuple[float, float], eps: float) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        for group in self.param_groups:
            owners: list[Tensor] = [p for p in group["params"] if p.grad is not None]
            if owners:
                self._step(owners, group)

    def _step(self, owners: list[Tensor], group: dict[str, Any]) -> None:
        for p in owners:
            if not self.state[p]:
                self.state[p] = {"exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
        (first, second), rate = group["betas"], group["lr"]
        gradients: list[Tensor] = [p.grad for p in owners if p.grad is not None]
        means = [self.state[p]["exp_avg"] for p in owners]
        squares = [self.state[p]["exp_avg_sq"] for p in owners]
        lerp_each(means, gradients, 1 - first)
        multiply_each(squares, second)
        add_products(squares, gradients, gradients, 1 - second)
        sizes = square_roots(squares)
        add_each(sizes, group["eps"])
        add_quotients(owners, means, sizes, -rate)
        if group["weight_decay"]:  # after the step, as the authors did
            multiply_each(owners, 1 - rate * group["weight_decay"])
