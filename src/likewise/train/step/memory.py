"""A step in pieces that fit into memory: where it runs out, the same step again in smaller ones.

What a step is made of differs between an embedder, a cross-encoder and a poly-encoder; when it is made again does not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import OutOfMemory
from ...runtime.devices import none_if_out_of_memory
from ...text.packing import plan_batches
from . import seeding
from .processes import Processes

Gradients = Sequence[tuple[nn.Parameter, Tensor | None]]
StepParts = list[list[int]]
"""Numbers of what is computed together, a list a piece."""


@dataclass(frozen=True)
class StepResult:
    """What a step found: the loss, the tokens it read, and in how many pieces."""

    loss: float
    tokens: int
    pieces: int


@dataclass
class TokenBudget:
    """Tokens that may be in flight with their gradients; halved for good when memory runs out."""

    tokens: int | None = None


@dataclass(frozen=True, eq=False)
class PartSplitter:
    """A step in three parts: `forth` alone, in pieces; `joined` with the other processes; `back` alone again."""

    what: str  # that can be no smaller, and how many tokens each has
    lengths: Sequence[int]
    forth: Callable[[StepParts], Any]
    joined: Callable[[Any], Any]
    back: Callable[[Any], float]


def retry_smaller(
    model: nn.Module, step: PartSplitter, budget: TokenBudget, objective: nn.Module, processes: Processes
) -> StepResult:
    """Makes the step, in smaller pieces where memory runs out here; and once more, where it does so later elsewhere.

    If memory runs out before what was found is joined, that is nobody else's business; if it does so after, all
    processes make the step again, since the others' part is wanted too.

    Raises:
        OutOfMemory: the smallest piece does not fit.
    """
    whole = sum(step.lengths)
    random, before = seeding.states(_device(model)), gradients(model, objective)
    while True:
        pieces = plan_batches(step.lengths, budget.tokens or whole)
        made, loss, again = none_if_out_of_memory(partial(step.forth, pieces)), None, True
        if made is not None:
            loss = none_if_out_of_memory(partial(step.back, step.joined(made)))
            again = processes.any(loss is None)
        if loss is not None and not again:
            return StepResult(loss, whole, len(pieces))
        if loss is None and len(pieces) == len(step.lengths):
            raise OutOfMemory(f"memory does not suffice for one {step.what} of {max(step.lengths):,} tokens")
        if loss is None:
            budget.tokens = max(1, (budget.tokens or whole) // 2)
        made = None  # and with it the graph
        restore(model, before, random)


def gradients(*modules: nn.Module) -> Gradients:
    """What was gathered before this step: nothing, as a rule."""
    every = [p for module in modules for p in module.parameters()]
    return [(p, None if p.grad is None else p.grad.clone()) for p in every]


def restore(model: nn.Module, before: Gradients, random: Sequence[Tensor]) -> None:
    """Gradients and random numbers are again what they were; memory that is held for later is let go."""
    for parameter, gradient in before:
        parameter.grad = None if gradient is None else gradient.clone()  # it may be wanted once more
    device = _device(model)
    seeding.restore_states(random, device)
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
