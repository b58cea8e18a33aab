"""LoRA: a linear layer's weight is W + (alpha / rank) B A, of which only A and B are trained.

Hu et al. 2021. The sum is a parametrisation of the weight, so layers need not know about it; at the end the sum becomes
the weight, and the saved folder is an ordinary one.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ...encoders.layers import Linear
from ...encoders.torch_internals import move_parameter_to_end
from ...errors import BadInput
from ..settings import TrainSettings
from ..step.trainable import Trainable


@dataclass(frozen=True)
class LoraOptions:
    """Rank 0 adds no adapters."""

    rank: int
    alpha: float
    layers: tuple[str, ...]

    @classmethod
    def of(cls, settings: TrainSettings) -> "LoraOptions":
        return cls(settings.lora_rank, settings.lora_alpha, settings.lora_layers)


class LowRank(nn.Module):
    """W ↦ W + (alpha / rank) B A; B starts at 0, so that training starts from the unchanged model."""

    def __init__(self, weight: Float[Tensor, "O I"], rank: int, alpha: float) -> None:
        super().__init__()
        outputs, inputs = weight.shape
        self.scale = alpha / rank
        self.a = nn.Parameter(weight.new_empty(rank, inputs))
        self.b = nn.Parameter(weight.new_zeros(outputs, rank))
        nn.init.kaiming_uniform_(self.a, math.sqrt(5))

    def forward(self, weight: Float[Tensor, "O I"]) -> Float[Tensor, "O I"]:
        return weight + self.scale * (self.b @ self.a)


@contextmanager
def lora_adapters(model: Trainable, options: LoraOptions) -> Iterator[None]:
    """Inside, the encoder's own weights are frozen and low-rank updates are trained; heads are trained as they are.

    At the end the updates are merged into the weights. After an error the weights are what they were, so that a run can
    resume from its checkpoint, which holds only the updates.
    """
    if not options.rank:
        yield
        return
    linears = [linear for linear in _linears(model, options) if linear.weight.requires_grad]  # others are frozen
    model.encoder.requires_grad_(False)
    for linear in linears:
        update = LowRank(linear.weight.detach(), options.rank, options.alpha)
        parametrize.register_parametrization(linear, "weight", update)
    merge = False
    try:
        yield
        merge = True
    finally:
        with torch.no_grad():
            for linear in linears:
                parametrize.remove_parametrizations(linear, "weight", leave_parametrized=merge)
                move_parameter_to_end(linear, "bias")  # after the weight, as it was


def _linears(model: Trainable, options: LoraOptions) -> list[Linear]:
    if options.rank < 0 or options.alpha <= 0:
        raise BadInput(f"lora_rank is {options.rank} and lora_alpha {options.alpha}; expected numbers above 0")
    linears = {
        name: module
        for name, module in model.encoder.named_modules()
        if isinstance(module, Linear) and name.startswith("blocks.")
    }
    known = {name.rpartition(".")[2] for name in linears}
    unknown = [layer for layer in options.layers if layer not in known]
    if unknown or not options.layers:
        problem = f"there is no layer {unknown[0]}" if unknown else "no layers are given"
        raise BadInput(f"lora_layers: {problem}; the blocks of this model have {', '.join(sorted(known)) or 'none'}")
    return [module for name, module in linears.items() if name.rpartition(".")[2] in options.layers]
