"""Activations of heads and of rerankers' scores in NumPy, and what they are computed of."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

Array = np.ndarray


def erf(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The error function to 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26)."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    series = np.float32(1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(term)
    return np.asarray(np.copysign(1 - series * t * np.exp(-x * x), x))


def gelu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The Gaussian error linear unit, x Φ(x)."""
    return np.asarray(np.float32(0.5) * x * (1 + erf(x * np.float32(0.5**0.5))))


def relu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """What is above 0."""
    return np.asarray(np.maximum(x, 0))


def sigmoid(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """1 / (1 + exp(−x)), which neither overflows nor loses the small ones: a rank depends on them."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, small, np.float32(1)) / (1 + small))


def softmax(x: Float[Array, "N C"]) -> Float[Array, "N C"]:
    """Each row as probabilities."""
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _same(x: Float[Array, "..."]) -> Float[Array, "..."]:
    return x


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "Identity": _same,
    "Tanh": np.tanh,
    "ReLU": relu,
    "GELU": gelu,
    "Sigmoid": sigmoid,
}
"""In NumPy, by the names of `likewise.module_registry.ACTIVATIONS`."""
