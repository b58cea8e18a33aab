"""A step in parts that fit into memory: where memory runs out, the same step again in smaller parts.

What a step consists of differs between an embedder, a cross-encoder and a poly-encoder; when it is repeated does not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import OutOfMemory
from ...inference import plan_batches
from ...runtime.devices import none_if_out_of_memory
from . import seeding
from .processes import SINGLE_PROCESS, Processes

Gradients = Sequence[tuple[nn.Parameter, Tensor | None]]
StepParts = list[list[int]]
"""Indices of what is computed at once, one list per part."""


@dataclass(frozen=True)
class StepResult:
    """Loss, tokens read, and the number of parts it was computed in."""

    loss: float
    tokens: int
    parts: int


@dataclass
class TokenBudget:
    """Tokens that may be encoded at once with their gradients; halved permanently when memory runs out."""

    tokens: int | None = None


@dataclass(frozen=True, eq=False)
class StepOptions:
    """How to compute a step.

    Attributes:
        token_budget: tokens encoded at once; without a number, all of them.
        dtype: of autocast, such as bfloat16; None computes in fp32.
        loss_scale: the loss is multiplied by it, where several batches make one step.
        processes: the batch is this process's part; the loss is that of all parts together.
    """

    token_budget: TokenBudget = field(default_factory=TokenBudget)
    dtype: torch.dtype | None = None
    loss_scale: float = 1.0
    processes: Processes = SINGLE_PROCESS

    def scaled(self, loss_scale: float) -> "StepOptions":
        """The same with another scale of the loss."""
        return replace(self, loss_scale=loss_scale)


@dataclass(frozen=True, eq=False)
class SplittableStep:
    """A step in three phases: `forward` in parts; `gather` from all processes; `backward`, in parts again."""

    unit: str  # the smallest part, for messages: "text", "row"
    lengths: Sequence[int]  # tokens of each unit
    forward: Callable[[StepParts], Any]
    gather: Callable[[Any], Any]
    backward: Callable[[Any], float]


def retry_smaller(
    model: nn.Module, objective: nn.Module, step: SplittableStep, budget: TokenBudget, processes: Processes
) -> StepResult:
    """Compute the step, in smaller parts where memory runs out here; and again where it does so later elsewhere.

    If memory runs out before the results are gathered, no other process is affected. If it does so after, all
    processes repeat the step, since each needs the part of the others.
    """
    tokens = sum(step.lengths)
    generators, gradients_before = seeding.generator_states(_device(model)), copied_gradients(model, objective)
    while True:
        parts = plan_batches(step.lengths, budget.tokens or tokens)
        outputs, loss, repeat = none_if_out_of_memory(partial(step.forward, parts)), None, True
        if outputs is not None:
            loss = none_if_out_of_memory(partial(step.backward, step.gather(outputs)))
            repeat = processes.any(loss is None)
        if loss is not None and not repeat:
            return StepResult(loss, tokens, len(parts))
        if loss is None and len(parts) == len(step.lengths):
            raise OutOfMemory(f"memory does not suffice for one {step.unit} of {max(step.lengths):,} tokens")
        if loss is None:
            budget.tokens = max(1, (budget.tokens or tokens) // 2)
        outputs = None  # and with it the graph
        restore_before_step(model, gradients_before, generators)


def copied_gradients(*modules: nn.Module) -> Gradients:
    """The gradients accumulated before this step: usually none."""
    parameters = [p for module in modules for p in module.parameters()]
    return [(p, None if p.grad is None else p.grad.clone()) for p in parameters]


def restore_before_step(model: nn.Module, gradients: Gradients, generators: Sequence[Tensor]) -> None:
    """Put gradients and random generators back to their state before the step, and release cached memory."""
    for parameter, gradient in gradients:
        parameter.grad = None if gradient is None else gradient.clone()  # it may be needed once more
    device = _device(model)
    seeding.restore_generators(generators, device)
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
