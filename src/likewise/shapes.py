"""What a head's folder says of its weights, names and shapes, before any is read; nothing here needs torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import BadModel

ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "Sigmoid")
"""Of dense heads, by torch's names."""
LARGEST = 10**6  # numbers of a vector


def head_shapes(kind: str, config: Mapping[str, Any], folder: Path) -> tuple[dict[str, tuple[int, ...]], str]:
    """The shape of each of a head's tensors by name, and the activation, which only a dense head has.

    Raises:
        BadModel: a size is none that a head could have, or the activation is not known.
    """
    if kind == "LayerNorm":
        width = _size(config, "dimension", folder)
        return {"norm.weight": (width,), "norm.bias": (width,)}, "Identity"
    name = str(config.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")[2]
    if name not in ACTIVATIONS:
        raise BadModel(
            f"the Dense head in {folder} asks for the activation {name!r}; there are {', '.join(ACTIVATIONS)}"
        )
    inputs, outputs = _size(config, "in_features", folder), _size(config, "out_features", folder)
    bias = {"linear.bias": (outputs,)} if config.get("bias", True) else {}
    return {"linear.weight": (outputs, inputs), **bias}, name


def _size(config: Mapping[str, Any], key: str, folder: Path) -> int:
    value = config.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
        raise BadModel(f"config.json in {folder} says {key} = {value!r}; wanted a whole number from 1 to {LARGEST:,}")
    return value
