"""Poolings: layers to one vector a sentence."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from ..errors import BadModel
from ..ragged import Layers, Ragged
from . import dissection
from .dissection import Dissection
from .fusion import Fusion, Stack
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


OWN: dict[str, Callable[[Mapping[str, Any], Path, int], Pooling]] = {
    "Dissection": Dissection.read,
    "Fusion": Fusion.read,
}
"""Poolings that sentence-transformers has no word for: settings, folder of weights and depth, to the pooling."""


def read_pooling(kind: str, config: Mapping[str, Any], folder: Path, depth: int) -> Pooling:
    """A pooling of ours, as the folder of a model of `depth` blocks describes it."""
    if kind not in OWN:
        raise BadModel(f"{folder} holds a pooling {kind!r}; those known here are {', '.join(OWN)}")
    return OWN[kind](config, folder, depth)


__all__ = ["OWN", "Dissection", "Fusion", "Pooling", "Reduce", "Stack", "pooling_of", "read_pooling"]
