"""Heads: the layers after pooling (Dense, LayerNorm, Normalize, Truncate). Each maps (N, E) to (N, E′)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from .array_types import Float
from .arrays.activations import HEAD_ACTIVATIONS
from .errors import BadModel
from .module_registry import check_truncation, head_shapes
from .runtime.weight_files import read_tensors


class Dense(nn.Module):
    """A linear layer and an activation."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True, activation: str = "Tanh") -> None:
        super().__init__()
        if activation not in HEAD_ACTIVATIONS:
            raise BadModel(
                f"a dense head has the unknown activation {activation!r}; expected one of {', '.join(HEAD_ACTIVATIONS)}"
            )
        self.linear = nn.Linear(inputs, outputs, bias=bias)
        self.activation = getattr(nn, activation)()

    def forward(self, x: Float[Tensor, "N E"]) -> Float[Tensor, "N F"]:
        out: Tensor = self.activation(self.linear(x))
        return out


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Float[Tensor, "N E"]) -> Float[Tensor, "N E"]:
        out: Tensor = self.norm(x)
        return out


class Normalize(nn.Module):
    """Scales vectors to length 1, so that a dot product is a cosine; a zero vector stays zero."""

    def forward(self, x: Float[Tensor, "N E"]) -> Float[Tensor, "N E"]:
        return normalize(x)


class Truncate(nn.Module):
    """Keeps the first `width` dimensions, for models trained to work with fewer (Kusupati et al. 2022, Matryoshka)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def extra_repr(self) -> str:
        return str(self.width)

    def forward(self, x: Float[Tensor, "N E"]) -> Float[Tensor, "N F"]:
        return x[:, : self.width]


def apply_heads(heads: nn.Module, x: Float[Tensor, "N W"]) -> Float[Tensor, "N E"]:
    """Pass pooled vectors through the heads, in the precision of the heads' weights."""
    first = next(heads.parameters(), x)
    out: Tensor = heads(x.to(first.dtype))
    return out


def out_width(heads: nn.Module, width: int) -> int:
    """The output width of the heads, given their input width."""
    with torch.no_grad():
        device = next((p.device for p in heads.parameters()), torch.device("cpu"))
        return int(apply_heads(heads, torch.zeros(1, width, device=device)).shape[1])


def read_head(kind: str, config: Mapping[str, Any], folder: Path) -> nn.Module:
    shapes, activation = head_shapes(kind, config, folder)
    weights = read_tensors(folder, f"the {kind} head", shapes) if shapes else {}
    head = KINDS[kind].build(shapes, activation)
    head.load_state_dict(weights)
    return head


def with_truncation(heads: Sequence[nn.Module], width: int, available: int) -> list[nn.Module]:
    """The heads, followed by truncation and, if the last head normalizes its output, by another normalization."""
    width = check_truncation(width, available)
    again = [Normalize()] if any(isinstance(head, Normalize) for head in heads[-1:]) else []
    return [*heads, Truncate(width), *again]


def head_settings(heads: nn.Module, width: int) -> list[tuple[str, Mapping[str, Any], Mapping[str, Tensor]]]:
    """Each head's kind, settings and weights, under the names that sentence-transformers uses."""
    settings_of_heads: list[tuple[str, Mapping[str, Any], Mapping[str, Tensor]]] = []
    for head in heads_in_order(heads):
        written = _keeping(width, head.width) if type(head) is Truncate else head
        kind, settings = _kind_and_settings(written)
        weights = {name: tensor.detach().cpu().contiguous() for name, tensor in written.state_dict().items()}
        settings_of_heads.append((kind, settings, weights))
        width = out_width(head, width)
    return settings_of_heads


def heads_in_order(heads: nn.Module) -> list[nn.Module]:
    """The heads that make up a module, in the order in which they are applied; a head applied twice is listed twice."""
    if type(heads) is nn.Sequential:
        return [one for head in heads for one in heads_in_order(head)]
    return [] if type(heads) is nn.Identity else [heads]


def _kind_and_settings(head: nn.Module) -> tuple[str, Mapping[str, Any]]:
    kind = next((name for name, row in KINDS.items() if type(head) is row.module), None)
    if kind is None:
        raise BadModel(
            f"a model with the head {head} cannot be saved; expected {', '.join(KINDS)} or Truncate "
            "(likewise.heads). An activation on its own can be saved as a Dense whose weight is the identity"
        )
    try:
        settings = KINDS[kind].settings(head)
        with torch.device("meta"):
            again = KINDS[kind].build(*head_shapes(kind, settings, Path(kind)))
    except (BadModel, AttributeError, TypeError) as error:
        raise BadModel(f"a model with the head {head} cannot be saved: {error}") from None
    if form_of(again) != form_of(head):
        raise BadModel(f"a model with the head {head} cannot be saved, because it would be loaded as {again}")
    return kind, settings


def form_of(module: nn.Module) -> list[tuple[type[nn.Module], str]]:
    """The class and settings of each part of a module, which together with its weights define it."""
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


def _dense(shapes: Mapping[str, tuple[int, ...]], activation: str) -> Dense:
    outputs, inputs = shapes["linear.weight"]
    return Dense(inputs, outputs, "linear.bias" in shapes, activation)


@dataclass(frozen=True)
class Kind:
    """How heads of one class are saved, and rebuilt from the shapes of their weights."""

    module: type[nn.Module]
    settings: Callable[[Any], Mapping[str, Any]]
    build: Callable[[Mapping[str, tuple[int, ...]], str], nn.Module]


KINDS: dict[str, Kind] = {
    "Dense": Kind(Dense, _dense_settings, _dense),
    "LayerNorm": Kind(
        Norm, lambda head: {"dimension": head.norm.normalized_shape[0]}, lambda shapes, _: Norm(*shapes["norm.weight"])
    ),
    "Normalize": Kind(Normalize, lambda _: {}, lambda *_: Normalize()),
}  # the torch class for each name in `likewise.module_registry.HEADS`
