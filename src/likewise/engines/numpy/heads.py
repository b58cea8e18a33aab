"""Heads in NumPy: what follows the pooling, by the names in `module_registry.HEADS`."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from ...arrays.activations import ACTIVATIONS
from ...errors import BadModel
from ...model_files import ModulePart
from ...module_registry import check_truncation, head_shapes
from ..stored_weights import StoredWeights
from .encoders import layer_norm

Array = np.ndarray


@dataclass(frozen=True)
class NumpyHead:
    """A step after pooling: what it computes of its weights, and how a model folder describes it.

    `kind` is a row of `module_registry.HEADS`, and `config` its settings there; `arrays` are the weights, by the names
    that they have in files.
    """

    kind: str
    config: Mapping[str, Any]
    width: int
    """Dimensions of what comes out."""
    compute: Callable[..., Array]
    arrays: Mapping[str, Array] = field(default_factory=dict)
    activation: str = "Identity"

    @property
    def description(self) -> str:
        """Its kind, and its activation if it has one."""
        return f"{self.kind} {self.activation}" if self.kind == "Dense" else self.kind

    def __call__(self, x: Float[Array, "N E"]) -> Float[Array, "N F"]:
        return np.asarray(self.compute(x, *self.arrays.values()), np.float32)


def heads_of(parts: Sequence[ModulePart], width: int) -> list[NumpyHead]:
    """The heads that a model folder describes, for pooled vectors of this width.

    Raises:
        BadModel: their weights are not those that their settings ask for, or they do not fit each other.
    """
    heads: list[NumpyHead] = []
    for part in parts:
        head = _head(part, width)
        heads.append(head)
        width = head.width
    return heads


def _head(part: ModulePart, width: int) -> NumpyHead:
    shapes, activation = head_shapes(part.kind, part.config, part.folder)
    expected = next((shape[-1] for shape in shapes.values()), width)
    if expected != width:
        raise BadModel(f"the {part.kind} head in {part.folder} takes {expected} numbers, and {width} come in")
    arrays: dict[str, Array] = {}
    if shapes:
        with ExitStack() as stack:
            stored = StoredWeights(part.folder, stack)
            arrays = {name: stored.read(name, *shape).fp32() for name, shape in shapes.items()}
    outputs = next((len(array) for array in arrays.values()), width)
    return NumpyHead(part.kind, part.config, outputs, HEADS[part.kind](activation), arrays, activation)


HEADS: dict[str, Callable[[str], Callable[..., Array]]] = {
    "Dense": lambda activation: partial(_dense, ACTIVATIONS[activation]),
    "LayerNorm": lambda _: _norm,
    "Normalize": lambda _: _normalised,
}
"""In NumPy, by the names of `likewise.module_registry.HEADS`: from the activation to the function."""


def _dense(activation: Callable[[Array], Array], x: Array, weight: Array, bias: Array | float = 0.0) -> Array:
    return activation(rowwise_product(x, weight) + bias)


def rowwise_product(x: Float[Array, "N E"], weight: Float[Array, "F E"]) -> Float[Array, "N F"]:
    """The product x Wᵀ, each row by itself: one of whole matrices has other last bits for one row than for several."""
    return np.asarray(np.matmul(x[:, None], weight.T)[:, 0])


def _norm(x: Array, scale: Array, shift: Array) -> Array:
    return layer_norm(x, (scale, shift), 1e-5)


def _normalised(x: Array) -> Array:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))


def truncated(heads: Sequence[NumpyHead], width: int, available: int) -> list[NumpyHead]:
    """The heads with a truncation of their output after them, normalised again if they normalise.

    Model folders have no truncation: it is written as a Dense that keeps the first dimensions.
    """
    check_truncation(width, available)
    activation = "torch.nn.modules.linear.Identity"
    config = {"in_features": available, "out_features": width, "bias": False, "activation_function": activation}
    keep = {"linear.weight": np.eye(width, available, dtype=np.float32)}
    again = [head for head in heads if head.kind == "Normalize"][:1]
    return [
        *heads,
        NumpyHead("Dense", config, width, partial(_first, width), keep),
        *(replace(head, width=width) for head in again),
    ]


def _first(width: int, x: Array, weight: Array) -> Array:  # noqa: ARG001, weight: what is saved
    return x[:, :width]
