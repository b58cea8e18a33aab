"""Chooses which weights to train: parts can be frozen by name, and LoRA adapters can be trained instead of weights.

LoRA (Hu et al. 2021): a linear layer's weight is W + (alpha / rank) B A, and only A and B are trained. The sum is a
parametrization of the weight, so layers need no changes; at the end, it replaces the weight.
"""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ..array_types import Float
from ..encoders.layers import Linear
from ..encoders.torch_internals import move_parameter_to_end
from ..errors import BadInput
from .settings import TrainSettings
from .step.trainable import Trainable

PARTS = ("encoder", "pooling", "heads", "head")  # an embedder has heads, a cross-encoder has a head
_BLOCKS = re.compile(r"blocks:(\d+)(?:-(\d+))?")


@contextmanager
def prepared_for_training(model: Trainable, settings: TrainSettings) -> Iterator[None]:
    """Apply the settings for freezing, LoRA and gradient checkpointing, and undo them at the end."""
    before = {p: p.requires_grad for p in model.parameters()}
    checkpointing_before = model.encoder.recomputes
    try:
        if settings.gradient_checkpointing:
            if not model.encoder.can_recompute:
                name = type(model.encoder).__name__
                raise BadInput(f"{name} does not support gradient checkpointing; leave gradient_checkpointing out")
            model.encoder.recomputes = True
        for parameter in parameters_of_parts(model, settings.freeze):
            parameter.requires_grad_(False)
        with lora_adapters(model, settings):
            yield
    finally:
        model.encoder.recomputes = checkpointing_before
        for parameter, requires_grad in before.items():
            parameter.requires_grad_(requires_grad)


def parameters_of_parts(model: Trainable, names: Sequence[str]) -> list[nn.Parameter]:
    """The parameters of parts such as `["embeddings", "blocks:0-3"]`; block numbers start at 0, and 3 is included."""
    return [p for name in names for module in _modules_of_part(model, name) for p in module.parameters()]


def _modules_of_part(model: Trainable, name: str) -> list[nn.Module]:
    encoder, depth = model.encoder, model.encoder.depth
    blocks = getattr(encoder, "blocks", None)
    parts = [part for part in PARTS if hasattr(model, part)]
    if name in parts:
        part = getattr(model, name)
        return [part] if isinstance(part, nn.Module) else []
    if blocks is not None and name == "embeddings":
        return [module for child, module in encoder.named_children() if child not in ("blocks", "last_norm")]
    if blocks is not None and (match := _BLOCKS.fullmatch(name)):
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < depth:
            raise BadInput(f"freeze has {name}, but this model has blocks 0 to {depth - 1}")
        return [encoder.block(i) for i in range(first, last + 1)]
    raise BadInput(f"freeze has {name!r}; expected embeddings, blocks:0-{depth - 1}, {' or '.join(parts)}")


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
def lora_adapters(model: Trainable, settings: TrainSettings) -> Iterator[None]:
    """Inside the context, the encoder's weights are frozen and low-rank updates are trained instead.

    Heads are trained directly. At the end, the updates are merged into the weights. After an error, the original
    weights are restored, so that a run can resume from its checkpoint, which holds only the updates.
    """
    if not settings.lora_rank:
        yield
        return
    linears = [linear for linear in _linears(model, settings) if linear.weight.requires_grad]  # others are frozen
    model.encoder.requires_grad_(False)
    for linear in linears:
        update = LowRank(linear.weight.detach(), settings.lora_rank, settings.lora_alpha)
        parametrize.register_parametrization(linear, "weight", update)
    merge = False
    try:
        yield
        merge = True
    finally:
        with torch.no_grad():
            for linear in linears:
                parametrize.remove_parametrizations(linear, "weight", leave_parametrized=merge)
                move_parameter_to_end(linear, "bias")  # so that it comes after the weight again


def _linears(model: Trainable, settings: TrainSettings) -> list[Linear]:
    if min(settings.lora_rank, settings.lora_alpha) <= 0:
        raise BadInput(
            f"lora_rank is {settings.lora_rank} and lora_alpha {settings.lora_alpha}; expected numbers above 0"
        )
    linears = {
        name: module
        for name, module in model.encoder.named_modules()
        if isinstance(module, Linear) and name.startswith("blocks.")
    }
    known = {name.rpartition(".")[2] for name in linears}
    unknown = [layer for layer in settings.lora_layers if layer not in known]
    if unknown or not settings.lora_layers:
        problem = f"there is no layer {unknown[0]}" if unknown else "the list is empty"
        raise BadInput(
            f"lora_layers: {problem}; this model's blocks have the layers {', '.join(sorted(known)) or '(none)'}"
        )
    return [module for name, module in linears.items() if name.rpartition(".")[2] in settings.lora_layers]
