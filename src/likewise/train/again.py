"""A step that runs out of memory is made again in smaller pieces, from the gradients and randomness it began with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from ..device import unless_full
from ..errors import OutOfMemory
from ..text.packing import plan

Gradients = list[tuple[nn.Parameter, Tensor | None]]
Pieces = list[list[int]]
"""Numbers of what is computed together, a list a piece."""


@dataclass(frozen=True)
class Took:
    """What a step found: the loss, the tokens it read, and in how many pieces."""

    loss: float
    tokens: int
    pieces: int


@dataclass
class Budget:
    """Tokens that may be in flight with their gradients; halved for good when memory runs out."""

    tokens: int | None = None


def until_it_fits(
    modules: Sequence[nn.Module],
    device: torch.device,
    lengths: Sequence[int],
    budget: Budget | None,
    attempt: Callable[[Pieces], float],
    what: str = "text",
) -> Took:
    """What `attempt` makes of pieces within the budget, which is halved until memory suffices.

    Args:
        modules: whose gradients `attempt` adds to.
        device: where.
        lengths: tokens of each thing that can be no smaller, a text or a row.
        budget: tokens that may be in flight; without one, all are.
        attempt: pieces to a loss; its gradients are taken back where memory runs out on the way.
        what: the name of such a thing, for the error.

    Raises:
        OutOfMemory: one alone does not fit.
    """
    budget = budget or Budget()
    random, before = random_states(device), _gradients(modules)
    while True:
        pieces = plan(lengths, budget.tokens or sum(lengths))
        loss = unless_full(partial(attempt, pieces))
        if loss is not None:
            return Took(loss, sum(lengths), len(pieces))
        if len(pieces) == len(lengths):
            raise OutOfMemory(f"memory does not suffice for one {what} of {max(lengths):,} tokens")
        budget.tokens = max(1, (budget.tokens or sum(lengths)) // 2)
        for parameter, gradient in before:
            parameter.grad = gradient
        set_random(random, device)
        if device.type == "cuda":
            torch.cuda.empty_cache()


def _gradients(modules: Sequence[nn.Module]) -> Gradients:
    """What was gathered before this step: nothing, as a rule."""
    every = [p for module in modules for p in module.parameters()]
    return [(p, None if p.grad is None else p.grad.clone()) for p in every]


def random_states(device: torch.device) -> list[Tensor]:
    """Of the generators that dropout draws from there."""
    states = [torch.get_rng_state()]
    return [*states, torch.cuda.get_rng_state(device)] if device.type == "cuda" else states


def set_random(states: list[Tensor], device: torch.device) -> None:
    """The generators draw again what they drew from here."""
    torch.set_rng_state(states[0])
    if len(states) > 1:
        torch.cuda.set_rng_state(states[1], device)
