"""Poolings: layers to one vector a sentence."""

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from ..ragged import Layers, Ragged
from . import dissection
from .dissection import Dissection
from .reduce import Reduce


@runtime_checkable
class Pooling(Protocol):
    """`(layers, tokens) → vectors`, and how it is written down in a model folder."""

    @property
    def spec(self) -> str: ...
    def width(self, encoder_width: int) -> int: ...
    def __call__(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N E"]: ...


def pooling_of(spec: str, depth: int) -> Pooling:
    """The pooling of this name, `"mean"`, `"cls+max"`, `"sbert-wk:start=2"` …, for an encoder of `depth` blocks."""
    if spec.partition(":")[0] == dissection.NAME:
        return Dissection.parse(spec, depth)
    return Reduce.parse(spec)


__all__ = ["Dissection", "Pooling", "Reduce", "pooling_of"]
