"""What a step that ran out of memory begins again with: the gradients and random numbers it had."""

from collections.abc import Sequence
from typing import Any

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
        parameter.grad = None if gradient is None else gradient.clone()  # it may be wanted once more
    device = next(model.parameters()).device
    set_random(random, device)
    if device.type == "cuda":
        torch.cuda.empty_cache()


def random_states(device: torch.device) -> list[Tensor]:
    """Of the generators that dropout draws from there."""
    states = [torch.get_rng_state()]
    return states if device.type == "cpu" else [*states, _generator(device).get_rng_state(device)]


def set_random(states: list[Tensor], device: torch.device) -> None:
    """The generators draw again what they drew from here."""
    torch.set_rng_state(states[0])
    if len(states) > 1:
        _generator(device).set_rng_state(states[1], device)


def _generator(device: torch.device) -> Any:
    """torch.cuda, torch.mps …"""
    return torch.get_device_module(device)
