"""Pooling methods turn the layers of an encoder into one vector per sentence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from ..array_types import Float
from ..arrays.dissection import NAME
from ..arrays.layer_means import KEY
from ..arrays.ragged import Layers, Ragged
from ..errors import BadModel
from .dissection import Dissection
from .fusion import Fusion, Stack
from .reductions import LayerMean, Reduce


@runtime_checkable
class Pooling(Protocol):
    """A pooling method: a function `(layers, tokens) → vectors` that knows how it is saved in a model folder."""

    @property
    def spec(self) -> str: ...
    def width(self, encoder_width: int) -> int: ...
    def __call__(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N E"]: ...


def pooling_of(spec: str, depth: int) -> Pooling:
    """The pooling method with this name (`"mean"`, `"mean:layers=0+6"`, `"sbert-wk"` …) for `depth` encoder blocks."""
    if spec.partition(":")[0] == NAME:
        return Dissection.parse(spec, depth)
    if KEY in spec:
        return LayerMean.parse(spec, depth)
    return Reduce.parse(spec)


OWN_POOLINGS: dict[str, type[Dissection] | type[Fusion] | type[LayerMean]] = {
    "Dissection": Dissection,
    "Fusion": Fusion,
    "LayerMean": LayerMean,
}
"""Pooling methods that sentence-transformers does not support; `read` rebuilds each of them from its `config`."""

_OF_LAYERS = (
    "A model that concatenates several layers is only for training; save the embedder it was made from, which shares "
    "its weights"
)


def read_pooling(kind: str, config: Mapping[str, Any], folder: Path, depth: int) -> Pooling:
    """Read the custom pooling method described by a folder, for a model with `depth` blocks."""
    if kind not in OWN_POOLINGS:
        raise BadModel(f"{folder} has the unknown pooling method {kind!r}; expected one of {', '.join(OWN_POOLINGS)}")
    return OWN_POOLINGS[kind].read(config, folder, depth)


def describe_pooling(pooling: Pooling) -> str | tuple[str, Mapping[str, Any]]:
    """Describe a pooling method for a model folder: its name, or its kind and settings if it is in OWN_POOLINGS."""
    if type(pooling) is Reduce:
        if Reduce.parse(pooling.spec) != pooling:
            raise BadModel(f"{pooling} cannot be saved, because it would be loaded as {Reduce.parse(pooling.spec)}")
        return pooling.spec
    kind = next((name for name, row in OWN_POOLINGS.items() if type(pooling) is row), None)
    if kind is None:
        hint = f". {_OF_LAYERS}" if isinstance(pooling, Stack) else ""
        raise BadModel(
            f"a model with the pooling {pooling} cannot be saved; expected a Reduce, {' or '.join(OWN_POOLINGS)}{hint}"
        )
    return kind, pooling.config  # type: ignore[attr-defined]


__all__ = [
    "OWN_POOLINGS",
    "Dissection",
    "Fusion",
    "LayerMean",
    "Pooling",
    "Reduce",
    "Stack",
    "describe_pooling",
    "pooling_of",
    "read_pooling",
]
