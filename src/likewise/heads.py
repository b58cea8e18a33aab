"""Heads: what is done to a sentence's vector after pooling. Each maps (N, E) to (N, E′)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from .errors import BadModel
from .module_registry import check_truncation, head_shapes
from .runtime.weight_files import read_tensors

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
    wanted, activation = head_shapes(kind, config, folder)
    weights = read_tensors(folder, f"the {kind} head", wanted) if wanted else {}
    head = KINDS[kind].build(wanted, activation)
    head.load_state_dict(weights)
    return head


def with_truncation(heads: Sequence[nn.Module], width: int, most: int) -> list[nn.Module]:
    """The heads with a truncation of their `most` numbers after them, normalised again if they normalise."""
    check_truncation(width, most)
    again = [Normalize()] if any(isinstance(head, Normalize) for head in heads) else []
    return [*heads, Truncate(width), *again]


def head_settings(heads: nn.Module, width: int) -> list[tuple[str, Mapping[str, Any], Mapping[str, Tensor]]]:
    """Kind, settings and weights of each head, in sentence-transformers' words.

    It has no word for a truncation, which is therefore a Dense that keeps the first rows.

    Raises:
        BadModel: a head is of no kind that a model folder has a word for, so that it would be read again as another.
    """
    found: list[tuple[str, Mapping[str, Any], Mapping[str, Tensor]]] = []
    for head in heads_in_order(heads):
        written = _keeping(width, head.width) if type(head) is Truncate else head
        kind, settings = _kind_and_settings(written)
        weights = {name: tensor.detach().cpu().contiguous() for name, tensor in written.state_dict().items()}
        found.append((kind, settings, weights))
        width = out_width(head, width)
    return found


def heads_in_order(heads: nn.Module) -> list[nn.Module]:
    """The heads that make up a module, in the order in which they are applied, one that stands twice included."""
    if type(heads) is nn.Sequential:
        return [one for head in heads for one in heads_in_order(head)]
    return [] if type(heads) is nn.Identity else [heads]


def _kind_and_settings(head: nn.Module) -> tuple[str, Mapping[str, Any]]:
    """The kind and settings from which a head of the same form is made again."""
    kind = next((name for name, row in KINDS.items() if type(head) is row.module), None)
    if kind is None:
        raise BadModel(
            f"a model with the head {head} cannot be saved; heads that can are {', '.join(KINDS)} and Truncate "
            "(likewise.heads). An activation alone can be had as a Dense whose weight is the identity"
        )
    try:
        settings = KINDS[kind].settings(head)
        with torch.device("meta"):
            again = KINDS[kind].build(*head_shapes(kind, settings, Path(kind)))
    except (BadModel, AttributeError, TypeError) as error:
        raise BadModel(f"a model with the head {head} cannot be saved: {error}") from None
    if form_of(again) != form_of(head):
        raise BadModel(f"a model with the head {head} cannot be saved: it would be read again as {again}")
    return kind, settings


def form_of(module: nn.Module) -> list[tuple[type[nn.Module], str]]:
    """What a module is but for its weights: the class of each of its parts, and what it says of its settings."""
    return [(type(part), part.extra_repr()) for part in module.modules()]


def _keeping(inputs: int, outputs: int) -> Dense:
    keep = Dense(inputs, min(inputs, outputs), bias=False, activation="Identity")
    nn.init.eye_(keep.linear.weight)
    return keep


def _dense_settings(head: Dense) -> Mapping[str, Any]:
    activation = type(head.activation)
    return {
        "in_features": head.linear.in_features,
        "out_features": head.linear.out_features,
        "bias": head.linear.bias is not None,
        "activation_function": f"{activation.__module__}.{activation.__name__}",
    }


def _dense(wanted: Mapping[str, tuple[int, ...]], activation: str) -> Dense:
    outputs, inputs = wanted["linear.weight"]
    return Dense(inputs, outputs, "linear.bias" in wanted, activation)


@dataclass(frozen=True)
class Kind:
    """How heads of one class are written down, and made again from the shapes of their weights."""

    module: type[nn.Module]
    settings: Callable[[Any], Mapping[str, Any]]
    build: Callable[[Mapping[str, tuple[int, ...]], str], nn.Module]


KINDS: dict[str, Kind] = {
    "Dense": Kind(Dense, _dense_settings, _dense),
    "LayerNorm": Kind(
        Norm, lambda head: {"dimension": head.norm.normalized_shape[0]}, lambda wanted, _: Norm(*wanted["norm.weight"])
    ),
    "Normalize": Kind(Normalize, lambda _: {}, lambda *_: Normalize()),
}
"""Every kind of head that a model folder can have, by its name there; `shapes.HEADS` has the same kinds."""
