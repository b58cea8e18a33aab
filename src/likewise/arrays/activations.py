"""ACTIVATIONS: one row per activation, with its NumPy function and its names in model folders; every engine uses it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..array_types import Float

Array = np.ndarray


def erf(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The error function, accurate to 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26)."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    series = np.float32(1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(term)
    return np.asarray(np.copysign(1 - series * t * np.exp(-x * x), x))


def gelu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The Gaussian error linear unit, x Φ(x)."""
    return np.asarray(np.float32(0.5) * x * (1 + erf(x * np.float32(0.5**0.5))))


def relu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    return np.asarray(np.maximum(x, 0))


def sigmoid(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """1 / (1 + exp(−x)), without overflow, and accurate for small results, because rankings depend on them."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, small, np.float32(1)) / (1 + small))


def softmax(x: Float[Array, "N C"]) -> Float[Array, "N C"]:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _gelu_tanh(x: Array) -> Array:
    inside = np.float32((2 / np.pi) ** 0.5) * (x + np.float32(0.044715) * x**3)
    return np.asarray(np.float32(0.5) * x * (1 + np.tanh(inside)))


def _same(x: Array) -> Array:
    return x


class Activation(NamedTuple):
    """An activation: its NumPy function, and its names elsewhere."""

    compute: Callable[[Array], Array]
    configs: tuple[str, ...] = ()  # its names in the config.json of encoders
    head: str = ""  # torch's class name, as used by heads and rerankers; empty if they cannot use this activation
    number: int | None = None  # its value in `lw_activation` of native/likewise_native.h; None: the identity


ACTIVATIONS = {
    "gelu": Activation(gelu, ("gelu", "gelu_python"), "GELU", 0),
    "gelu_tanh": Activation(_gelu_tanh, ("gelu_new", "gelu_fast", "gelu_pytorch_tanh"), number=1),
    "relu": Activation(relu, ("relu",), "ReLU", 2),
    "silu": Activation(lambda x: x * sigmoid(x), ("silu", "swish"), number=3),
    "tanh": Activation(np.tanh, ("tanh",), "Tanh", 4),
    "quick_gelu": Activation(lambda x: x * sigmoid(np.float32(1.702) * x), ("quick_gelu",), number=5),
    "mish": Activation(lambda x: np.asarray(x * np.tanh(np.logaddexp(x, np.float32(0)))), ("mish",), number=6),
    "identity": Activation(_same, head="Identity"),
    "sigmoid": Activation(sigmoid, head="Sigmoid", number=7),
}
ENCODER_ACTIVATIONS = {name: ours for ours, row in ACTIVATIONS.items() for name in row.configs}
"""Maps names in config.json to rows."""
HEAD_ACTIVATIONS = {row.head: row.compute for row in ACTIVATIONS.values() if row.head}
"""NumPy functions by torch class name."""
