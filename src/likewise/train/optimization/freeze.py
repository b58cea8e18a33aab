"""What of a model is trained: parts stay as they are by name, or all of it stays and low-rank changes are learned."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from ...errors import BadInput
from ..run import TrainSettings
from ..step.trainable import Trainable
from .lora import adapted

PARTS = ("encoder", "pooling", "heads", "head")  # heads of an embedder, head of a cross-encoder
_BLOCKS = re.compile(r"blocks:(\d+)(?:-(\d+))?")


@contextmanager
def prepared_for_training(embedder: Trainable, run: TrainSettings) -> Iterator[None]:
    """Inside, only what the run trains asks for gradients, and layers are remembered as it says; undone at the end.

    Raises:
        BadInput: a name in `freeze` is unknown, or nothing is left to train.
    """
    asked = {p: p.requires_grad for p in embedder.parameters()}
    recomputed = embedder.encoder.recomputes
    try:
        if run.remember == "layers":
            _recompute(embedder)
        for parameter in freeze(embedder, run.freeze):
            parameter.requires_grad_(False)
        with adapted(embedder, run.lora):
            yield
    finally:
        embedder.encoder.recomputes = recomputed
        for parameter, whether in asked.items():
            parameter.requires_grad_(whether)


def freeze(embedder: Trainable, names: Sequence[str]) -> list[nn.Parameter]:
    """The parameters that `["embeddings", "blocks:0-3"]` names. Blocks count from 0, the last is meant too."""
    found: list[nn.Parameter] = []
    for name in names:
        for module in _named(embedder, name):
            found += module.parameters()
    return found


def _named(embedder: Trainable, name: str) -> list[nn.Module]:
    encoder, depth = embedder.encoder, embedder.encoder.depth
    blocks = getattr(encoder, "blocks", None)
    parts = [part for part in PARTS if hasattr(embedder, part)]
    if name in parts:
        part = getattr(embedder, name)
        return [part] if isinstance(part, nn.Module) else []
    if blocks is not None and name == "embeddings":
        return [module for child, module in encoder.named_children() if child not in ("blocks", "last_norm")]
    if blocks is not None and (told := _BLOCKS.fullmatch(name)):
        first, last = int(told[1]), int(told[2] or told[1])
        if not first <= last < depth:
            raise BadInput(f"freeze says {name}, and the blocks of this model are 0 to {depth - 1}")
        return [encoder.block(i) for i in range(first, last + 1)]
    raise BadInput(f"freeze says {name!r}; wanted embeddings, blocks:0-{depth - 1}, {' or '.join(parts)}")


def _recompute(embedder: Trainable) -> None:
    if not embedder.encoder.can_recompute:
        raise BadInput(f'{type(embedder.encoder).__name__} always remembers all; leave out remember="layers"')
    embedder.encoder.recomputes = True
