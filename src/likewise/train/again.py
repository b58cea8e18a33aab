"""What a step that ran out of memory begins again with: the gradients and random numbers it had."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .draws import put

Gradients = Sequence[tuple[nn.Parameter, Tensor | None]]


def gradients(*modules: nn.Module) -> Gradients:
    """What was gathered before this step: nothing, as a rule."""
    every = [p for module in modules for p in module.parameters()]
    return [(p, None if p.grad is None else p.grad.clone()) for p in every]


def restore(model: nn.Module, before: Gradients, random: Sequence[Tensor]) -> None:
    """Gradients and random numbers are again what they were; memory that is held for later is let go."""
    for parameter, gradient in before:
        parameter.grad = None if gradient is None else gradient.clone()  # it may be wanted once more
    device = next(model.parameters()).device
    put(random, device)
    if device.type == "cuda":
        torch.cuda.empty_cache()
