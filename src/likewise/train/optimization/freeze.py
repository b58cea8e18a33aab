"""Which weights of a model are trained: parts can be frozen by name, or LoRA adapters trained instead of weights."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from ...errors import BadInput
from ..settings import TrainSettings
from ..step.trainable import Trainable
from .lora import LoraOptions, lora_adapters

PARTS = ("encoder", "pooling", "heads", "head")  # heads of an embedder, head of a cross-encoder
_BLOCKS = re.compile(r"blocks:(\d+)(?:-(\d+))?")


@contextmanager
def prepared_for_training(model: Trainable, settings: TrainSettings) -> Iterator[None]:
    """Freezing, LoRA and gradient checkpointing as the settings say; undone at the end."""
    before = {p: p.requires_grad for p in model.parameters()}
    checkpointing_before = model.encoder.recomputes
    try:
        if settings.gradient_checkpointing:
            _enable_gradient_checkpointing(model)
        for parameter in parameters_of_parts(model, settings.freeze):
            parameter.requires_grad_(False)
        with lora_adapters(model, LoraOptions.of(settings)):
            yield
    finally:
        model.encoder.recomputes = checkpointing_before
        for parameter, requires_grad in before.items():
            parameter.requires_grad_(requires_grad)


def parameters_of_parts(model: Trainable, names: Sequence[str]) -> list[nn.Parameter]:
    """The parameters of parts such as `["embeddings", "blocks:0-3"]`. Blocks count from 0, and 3 is included."""
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
            raise BadInput(f"freeze has {name}, and this model has blocks 0 to {depth - 1}")
        return [encoder.block(i) for i in range(first, last + 1)]
    raise BadInput(f"freeze has {name!r}; expected embeddings, blocks:0-{depth - 1}, {' or '.join(parts)}")


def _enable_gradient_checkpointing(model: Trainable) -> None:
    if not model.encoder.can_recompute:
        raise BadInput(
            f"{type(model.encoder).__name__} has no gradient checkpointing; leave gradient_checkpointing out"
        )
    model.encoder.recomputes = True
