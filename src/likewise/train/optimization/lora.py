"""LoRA of our own: a linear layer's weight is W + (alpha / rank) B A, of which only A and B are trained.

Hu et al. 2021. The sum is a parametrisation of the weight, so no layer knows of it; at the end it is the weight, and
the saved folder is an ordinary one.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ...encoders.layers import Linear
from ...encoders.torch_internals import move_parameter_to_end
from ...errors import BadInput
from ..run import Lora
from ..step.trainable import Trainable


class LowRank(nn.Module):
    """W ↦ W + (alpha / rank) B A; B begins at 0, so that training begins at the model as it was."""

    def __init__(self, weight: Float[Tensor, "O I"], rank: int, alpha: float) -> None:
        super().__init__()
        wide, narrow = weight.shape
        self.scale = alpha / rank
        self.a = nn.Parameter(weight.new_empty(rank, narrow))
        self.b = nn.Parameter(weight.new_zeros(wide, rank))
        nn.init.kaiming_uniform_(self.a, math.sqrt(5))

    def forward(self, weight: Float[Tensor, "O I"]) -> Float[Tensor, "O I"]:
        return weight + self.scale * (self.b @ self.a)


@contextmanager
def adapted(embedder: Trainable, how: Lora) -> Iterator[None]:
    """Inside, the encoder's own weights stay and low-rank changes ask for gradients; heads are trained as they are.

    At the end the changes are part of the weights. After an error the weights are what they were, so that a run can go
    on from its checkpoint, which holds the changes alone.
    """
    if not how.rank:
        yield
        return
    linears = [linear for linear in _linears(embedder, how) if linear.weight.requires_grad]  # others are frozen
    embedder.encoder.requires_grad_(False)
    for linear in linears:
        change = LowRank(linear.weight.detach(), how.rank, how.alpha)
        parametrize.register_parametrization(linear, "weight", change)
    merge = False
    try:
        yield
        merge = True
    finally:
        with torch.no_grad():
            for linear in linears:
                parametrize.remove_parametrizations(linear, "weight", leave_parametrized=merge)
                move_parameter_to_end(linear, "bias")  # after the weight, as it was


def _linears(embedder: Trainable, how: Lora) -> list[Linear]:
    if how.rank < 0 or how.alpha <= 0:
        raise BadInput(f"LoRA's rank is {how.rank} and its alpha {how.alpha}; wanted numbers above 0")
    named = {
        name: module
        for name, module in embedder.encoder.named_modules()
        if isinstance(module, Linear) and name.startswith("blocks.")
    }
    known = {name.rpartition(".")[2] for name in named}
    unknown = [layer for layer in how.layers if layer not in known]
    if unknown or not how.layers:
        told = f"no layer {unknown[0]}" if unknown else "no layers chosen"
        raise BadInput(f"LoRA: {told}; the blocks of this model have {', '.join(sorted(known)) or 'none that fit'}")
    return [module for name, module in named.items() if name.rpartition(".")[2] in how.layers]
