"""Pooling methods and heads in NumPy, for every engine without torch."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...array_types import Float
from ...arrays.activations import HEAD_ACTIVATIONS
from ...arrays.dissection import NAME, DissectionSettings, dissected_sums
from ...arrays.layer_means import KEY, LayerMeanSettings
from ...arrays.reductions import reduce_sentences, reduction_names, without_first
from ...arrays.sequences import Sequences
from ...errors import BadModel
from ...model_files import ModulePart
from ...module_registry import FusionShape, check_truncation, head_shapes
from ...runtime.fingerprint import Weights
from ..array_encoder import ArrayEncoder, Skips
from ..stored_weights import StoredWeights
from .encoders import layer_norm

Array = np.ndarray


@dataclass(frozen=True)
class ArrayReduce:
    """One reduction, or several concatenated, computed by the encoder.

    `described` is the pooling method as recorded in a model folder: a name, or a kind and settings if it is specific
    to this library.
    """

    names: tuple[str, ...]
    arrays: Mapping[str, Array] = field(default_factory=dict)

    @property
    def spec(self) -> str:
        return "+".join(self.names)

    @property
    def described(self) -> str:
        return self.spec

    def width(self, encoder_width: int) -> int:
        return len(self.names) * encoder_width

    def __call__(self, encoder: ArrayEncoder, tokens: Sequences, skips: Skips) -> Float[Array, "N W"]:
        return encoder.pooled(tokens, self.names, skips)


@dataclass(frozen=True)
class ArrayDissection(DissectionSettings):
    arrays: ClassVar[Mapping[str, Array]] = {}

    @property
    def described(self) -> ModulePart:
        return ModulePart("Dissection", self.config, Path())

    def __call__(self, encoder: ArrayEncoder, tokens: Sequences, skips: Skips) -> Float[Array, "N D"]:
        layers, lengths = encoder.layers(tokens, self.start, encoder.depth), tokens.lengths
        if skips is not None:
            kept, lengths = without_first(lengths, skips)
            layers = layers[:, kept]
        return dissected_sums(self, layers, lengths)


@dataclass(frozen=True)
class ArrayLayerMean(LayerMeanSettings):
    """Average several layers, then reduce over tokens."""

    arrays: ClassVar[Mapping[str, Array]] = {}

    @property
    def described(self) -> ModulePart:
        return ModulePart("LayerMean", self.config, Path())

    def __call__(self, encoder: ArrayEncoder, tokens: Sequences, skips: Skips) -> Float[Array, "N W"]:
        first, last = self.layers[0], self.layers[-1]
        layers = encoder.layers(tokens, first, last)[[number - first for number in self.layers]]
        return reduce_sentences(layers.mean(0, dtype=np.float32), tokens.lengths, self.reduce, skips)


@dataclass(frozen=True, eq=False)
class ArrayFusion:
    """Learned fusion: a linear map of the concatenated pooled vectors of several layers."""

    shape: FusionShape
    arrays: Mapping[str, Array]

    @classmethod
    def read(cls, config: Mapping[str, Any], folder: Path, depth: int) -> "ArrayFusion":
        shape = FusionShape.read(config, folder, depth)
        with ExitStack() as stack:
            stored = StoredWeights(folder, stack)
            return cls(shape, {name: stored.read(name, *sizes).fp32() for name, sizes in shape.tensors.items()})

    @property
    def spec(self) -> str:
        return self.shape.spec

    @property
    def described(self) -> ModulePart:
        return ModulePart("Fusion", self.shape.config, Path())

    def width(self, encoder_width: int) -> int:
        return self.shape.width(encoder_width)

    def __call__(self, encoder: ArrayEncoder, tokens: Sequences, skips: Skips) -> Float[Array, "N W"]:
        layers, lengths = encoder.layers(tokens, self.shape.first, self.shape.last), tokens.lengths
        stacked = [reduce_sentences(x, lengths, self.shape.reduce, skips) for x in layers]
        mapped = rowwise_product(np.concatenate(stacked, axis=1), self.arrays["map.weight"])
        return np.asarray(mapped + self.arrays["map.bias"])


ArrayPooling = ArrayReduce | ArrayDissection | ArrayLayerMean | ArrayFusion


def array_pooling(described: str | ModulePart, depth: int) -> ArrayPooling:
    """The pooling method with this name, or the one described by a model folder, for an encoder of `depth` blocks."""
    if isinstance(described, str):
        if described.partition(":")[0] == NAME:
            return ArrayDissection.parse(described, depth)
        if KEY in described:
            return ArrayLayerMean.parse(described, depth)
        return ArrayReduce(reduction_names(described))
    if described.kind not in OWN_POOLINGS:
        raise BadModel(
            f"{described.folder} uses the pooling method {described.kind!r}; expected one of {', '.join(OWN_POOLINGS)}"
        )
    return OWN_POOLINGS[described.kind](described.config, described.folder, depth)


OWN_POOLINGS: dict[str, Callable[[Mapping[str, Any], Path, int], ArrayPooling]] = {
    "Dissection": ArrayDissection.read,
    "Fusion": ArrayFusion.read,
    "LayerMean": ArrayLayerMean.read,
}  # keyed like `likewise.pooling.OWN_POOLINGS`; each function maps settings, folder and depth to a NumPy pooling method


@dataclass(frozen=True)
class NumpyHead:
    """A head, applied after pooling: a function of vectors and weights, and its description in a model folder."""

    kind: str
    config: Mapping[str, Any]
    width: int  # output dimensions
    compute: Callable[..., Array]
    arrays: Mapping[str, Array] = field(default_factory=dict)
    activation: str = "Identity"

    @property
    def description(self) -> str:
        """The kind of head, followed by the activation of a Dense head."""
        return f"{self.kind} {self.activation}" if self.kind == "Dense" else self.kind

    def __call__(self, x: Float[Array, "N E"]) -> Float[Array, "N F"]:
        return np.asarray(self.compute(x, *self.arrays.values()), np.float32)


def heads_of(parts: Sequence[ModulePart], width: int) -> list[NumpyHead]:
    """The heads described in a model folder, for pooled vectors with this many dimensions."""
    heads: list[NumpyHead] = []
    for part in parts:
        head = _head(part, width)
        heads.append(head)
        width = head.width
    return heads


def weights_of_heads(heads: Sequence[NumpyHead]) -> Weights:
    """The heads' weights for the fingerprint of a reranker."""
    return [(f"heads.{i}.{name}", [array]) for i, head in enumerate(heads) for name, array in head.arrays.items()]


def _head(part: ModulePart, width: int) -> NumpyHead:
    shapes, activation = head_shapes(part.kind, part.config, part.folder)
    expected = next((shape[-1] for shape in shapes.values()), width)
    if expected != width:
        raise BadModel(f"the {part.kind} head in {part.folder} expects {expected} dimensions, but gets {width}")
    arrays: dict[str, Array] = {}
    if shapes:
        with ExitStack() as stack:
            stored = StoredWeights(part.folder, stack)
            arrays = {name: stored.read(name, *shape).fp32() for name, shape in shapes.items()}
    outputs = next((len(array) for array in arrays.values()), width)
    return NumpyHead(part.kind, part.config, outputs, HEADS[part.kind](activation), arrays, activation)


HEADS: dict[str, Callable[[str], Callable[..., Array]]] = {
    "Dense": lambda activation: partial(_dense, HEAD_ACTIVATIONS[activation]),
    "LayerNorm": lambda _: _norm,
    "Normalize": lambda _: _normalised,
}  # keyed like `likewise.module_registry.HEADS`; each function maps an activation's name to a NumPy head


def _dense(activation: Callable[[Array], Array], x: Array, weight: Array, bias: Array | float = 0.0) -> Array:
    return activation(rowwise_product(x, weight) + bias)


def rowwise_product(x: Float[Array, "N E"], weight: Float[Array, "F E"]) -> Float[Array, "N F"]:
    """Compute x Wᵀ row by row, because the last bits of a full matrix product depend on the number of rows."""
    return np.asarray(np.matmul(x[:, None], weight.T)[:, 0])


def _norm(x: Array, scale: Array, shift: Array) -> Array:
    return layer_norm(x, (scale, shift), 1e-5)


def _normalised(x: Array) -> Array:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))


def truncated(heads: Sequence[NumpyHead], width: int, available: int) -> list[NumpyHead]:
    """The heads followed by truncation of their output, which is normalized again if the last head normalizes."""
    width = check_truncation(width, available)
    activation = "torch.nn.modules.linear.Identity"
    config = {"in_features": available, "out_features": width, "bias": False, "activation_function": activation}
    keep = {"linear.weight": np.eye(width, available, dtype=np.float32)}
    again = [head for head in heads[-1:] if head.kind == "Normalize"]
    return [
        *heads,
        NumpyHead("Dense", config, width, partial(_first, width), keep),
        *(replace(head, width=width) for head in again),
    ]


def _first(width: int, x: Array, weight: Array) -> Array:  # noqa: ARG001, weight: what is saved
    return x[:, :width]
