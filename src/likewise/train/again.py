"""What a step that ran out of memory begins again with: the gradients and random numbers it had."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

Gradients = Sequence[tuple[nn.Parameter, Tensor | None]]


def gradients(*modules: nn.Module) -> Gradients:
    """What was gathered before this step: nothing, as a rule."""
    every = [p for module in modules for p in module.parameters()]
    return [(p, None if p.grad is None else p.grad.clone()) for p in every]


def restore(model: nn.Module, before: Gradients, random: list[Tensor]) -> None:
    """Gradients and random numbers are again what they were; memory that is held for later is let go."""
    for parameter, gradient in before:
        parameter.grad = gradient
    device = next(model.parameters()).device
    set_random(random, device)
    if device.type == "cuda":
        torch.cuda.empty_cache()


def random_states(device: torch.device) -> list[Tensor]:
    """Of the generators that dropout draws from there."""
    states = [torch.get_rng_state()]
    return [*states, torch.cuda.get_rng_state(device)] if device.type == "cuda" else states


def set_random(states: list[Tensor], device: torch.device) -> None:
    """The generators draw again what they drew from here."""
    torch.set_rng_state(states[0])
    if len(states) > 1:
        torch.cuda.set_rng_state(states[1], device)
