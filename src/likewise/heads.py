"""Heads: what is done to a sentence's vector after pooling. Each maps (N, E) to (N, E′)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from .errors import BadModel
from .modelfiles import read_tensors
from .shapes import check_truncation, head_shapes

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "Identity": nn.Identity,
    "Tanh": nn.Tanh,
    "ReLU": nn.ReLU,
    "GELU": nn.GELU,
    "Sigmoid": nn.Sigmoid,
}


class Dense(nn.Module):
    """A linear map and an activation."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True, activation: str = "Tanh") -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise BadModel(f"a dense head asks for the activation {activation!r}; there are {', '.join(ACTIVATIONS)}")
        self.linear = nn.Linear(inputs, outputs, bias=bias)
        self.activation = ACTIVATIONS[activation]()

    def forward(self, x: Float[Tensor, "N E"]) -> Float[Tensor, "N F"]:
        out: Tensor = self.activation(self.linear(x))
        return out


class Norm(nn.Module):
    """Layer normalisation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Float[Tensor, "N E"]) -> Float[Tensor, "N E"]:
        out: Tensor = self.norm(x)
        return out


class Normalize(nn.Module):
    """Length 1, so that a dot product is a cosine; a zero vector stays zero."""

    def forward(self, x: Float[Tensor, "N E"]) -> Float[Tensor, "N E"]:
        return normalize(x, dim=1)


class Truncate(nn.Module):
    """The first `width` numbers, for models trained so that these stand alone (Kusupati et al. 2022, Matryoshka)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def extra_repr(self) -> str:
        return str(self.width)

    def forward(self, x: Float[Tensor, "N E"]) -> Float[Tensor, "N F"]:
        return x[:, : self.width]


def out_width(heads: nn.Module, width: int) -> int:
    """The width that comes out of the heads when `width` goes in."""
    with torch.no_grad():
        device = next((p.device for p in heads.parameters()), torch.device("cpu"))
        return int(heads(torch.zeros(1, width, device=device)).shape[1])


def read_head(kind: str, config: Mapping[str, Any], folder: Path) -> nn.Module:
    """The head that a model folder describes, with its weights."""
    if kind == "Normalize":
        return Normalize()
    wanted, activation = head_shapes(kind, config, folder)
    weights = read_tensors(folder, f"the {kind} head", wanted)
    head: nn.Module = _dense(wanted, activation) if kind == "Dense" else Norm(*wanted["norm.weight"])
    head.load_state_dict(weights)
    return head


def _dense(wanted: Mapping[str, tuple[int, ...]], activation: str) -> Dense:
    outputs, inputs = wanted["linear.weight"]
    return Dense(inputs, outputs, "linear.bias" in wanted, activation)


def truncated(heads: Sequence[nn.Module], width: int, most: int) -> list[nn.Module]:
    """The heads with a truncation of their `most` numbers after them, normalised again if they normalise."""
    check_truncation(width, most)
    again = [Normalize()] if any(isinstance(head, Normalize) for head in heads) else []
    return [*heads, Truncate(width), *again]


def describe(heads: nn.Module, width: int) -> list[tuple[str, Mapping[str, Any], Mapping[str, Tensor]]]:
    """Kind, settings and weights of each head, in sentence-transformers' words.

    It has no word for a truncation, which is therefore a Dense that keeps the first rows.
    """
    found: list[tuple[str, Mapping[str, Any], Mapping[str, Tensor]]] = []
    for head in heads.children():
        told = _keeping(width, head.width) if isinstance(head, Truncate) else head
        weights = {name: tensor.detach().cpu().contiguous() for name, tensor in told.state_dict().items()}
        if isinstance(told, Dense):
            kind = type(told.activation)
            config = {
                "in_features": told.linear.in_features,
                "out_features": told.linear.out_features,
                "bias": told.linear.bias is not None,
                "activation_function": f"{kind.__module__}.{kind.__name__}",
            }
            found.append(("Dense", config, weights))
        elif isinstance(told, Norm):
            found.append(("LayerNorm", {"dimension": told.norm.normalized_shape[0]}, weights))
        else:
            found.append(("Normalize", {}, weights))
        width = out_width(head, width)
    return found


def _keeping(inputs: int, outputs: int) -> Dense:
    keep = Dense(inputs, min(inputs, outputs), bias=False, activation="Identity")
    nn.init.eye_(keep.linear.weight)
    return keep
