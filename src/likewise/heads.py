"""Heads: what is done to a sentence's vector after pooling. Each maps (N, E) to (N, E′)."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from .errors import BadModel

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

    def forward(self, x: Float[Tensor, "N E"]) -> Float[Tensor, "N F"]:
        return x[:, : self.width]


def out_width(heads: nn.Module, width: int) -> int:
    """The width that comes out of the heads when `width` goes in."""
    with torch.no_grad():
        device = next((p.device for p in heads.parameters()), torch.device("cpu"))
        return int(heads(torch.zeros(1, width, device=device)).shape[1])
