"""Poolings: layers to one vector a sentence."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from jaxtyping import Float
from torch import Tensor

from ..errors import BadModel
from ..ragged import Layers, Ragged
from .fusion import Fusion, Stack
from .reduce import Reduce


class Pooling(Protocol):
    """`(layers, tokens) → vectors`, and how it is written down in a model folder."""

    @property
    def spec(self) -> str: ...
    def width(self, encoder_width: int) -> int: ...
    def __call__(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N E"]: ...


def pooling_of(spec: str) -> Pooling:
    """The pooling of this name: `"mean"`, `"cls"`, `"cls+max"` …"""
    return Reduce.parse(spec)


OWN: dict[str, Callable[[Mapping[str, Any], Path], Pooling]] = {"Fusion": Fusion.read}
"""Poolings that sentence-transformers has no word for: settings and folder of weights, to the pooling."""


def read_pooling(kind: str, config: Mapping[str, Any], folder: Path) -> Pooling:
    """A pooling of ours, as a model folder describes it."""
    if kind not in OWN:
        raise BadModel(f"{folder} holds a pooling {kind!r}; those known here are {', '.join(OWN)}")
    return OWN[kind](config, folder)


__all__ = ["OWN", "Fusion", "Pooling", "Reduce", "Stack", "pooling_of", "read_pooling"]
