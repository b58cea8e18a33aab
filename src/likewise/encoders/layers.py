"""Layers that differ from torch's own, shared by all transformers in this library.

Building a layer does not initialize its weights: they come from a checkpoint, or from `initialize_weights`.
(On the meta device, torch's initialization takes a second: it imports a compiler to draw numbers that are never used.)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.optimizer import register_optimizer_step_post_hook

from ..array_types import Float
from ..arrays.activations import ACTIVATIONS
from .torch_internals import (
    HAS_PACKED_LINEAR,
    NotifiedOfMoves,
    gelu_in_place,
    pack_linear_weight,
    packed_linear,
    version,
)


def gelu_low_memory(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The Gaussian error linear unit, x Φ(x)."""
    return F.gelu(x) if torch.is_grad_enabled() else gelu_in_place(x)


_OWN_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": gelu_low_memory,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "tanh": torch.tanh,
}
ACTIVATION_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    name: _OWN_FUNCTIONS.get(name) or getattr(F, name) for name, row in ACTIVATIONS.items() if row.configs
}  # the rows of `arrays.activations.ACTIVATIONS` that encoders use, in torch


class _OptimizerSteps:
    """Counts the steps of all optimizers since a weight was first packed.

    Fused optimizers change weights without incrementing the tensors' version, and torch does not report which weights
    changed, so the steps of all optimizers count. The hook is registered when a weight is first packed, never on
    import.
    """

    count = 0
    watched = False

    @classmethod
    def _add_one(cls, *_: Any) -> None:
        cls.count += 1

    @classmethod
    def watch(cls) -> None:
        if not cls.watched:
            cls.watched = True
            register_optimizer_step_post_hook(cls._add_one)


class _PackedWeight(NamedTuple):
    source: Tensor
    state: tuple[int, int, int]
    packed: Tensor


class Uninitialized:
    """A layer whose weights are not initialized when it is built; see the module docstring."""

    def reset_parameters(self) -> None:
        """Do nothing."""


class Linear(Uninitialized, NotifiedOfMoves, nn.Linear):
    """y = x Wᵀ + b. Without gradients on a CPU, W is repacked once for oneDNN, which saves 10 % of the time in fp32."""

    _cached: _PackedWeight | None = None

    def forward(self, x: Float[Tensor, "... I"]) -> Float[Tensor, "... O"]:
        if (
            not HAS_PACKED_LINEAR
            or torch.is_grad_enabled()
            or x.device.type != "cpu"
            or x.dtype not in (torch.float32, torch.bfloat16)
            or torch.is_autocast_enabled("cpu")  # autocast chooses the precision of this matmul
            or self.weight.is_inference()  # changes to an inference tensor cannot be detected
        ):
            return F.linear(x, self.weight, self.bias)
        return packed_linear(x, self.packed(), self.bias)

    def packed(self) -> Tensor:
        """The weight in oneDNN's own layout, repacked whenever the weight has changed.

        The source of the packed weight is kept alive, so that no other weight can get its address. An in-place change
        through `weight.data` bypasses version tracking and is not detected; changes under `torch.no_grad()` or by an
        optimizer are.
        """
        cached, state = self._cached, (self.weight.data_ptr(), version(self.weight), _OptimizerSteps.count)
        if cached is None or cached.state != state:
            _OptimizerSteps.watch()
            source = self.weight.detach()
            cached = _PackedWeight(source, state, pack_linear_weight(source))
            self._cached = cached
        return cached.packed

    def before_move(self) -> None:
        self._cached = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_cached"}


class LayerNorm(Uninitialized, nn.LayerNorm):
    """Layer normalization whose bias may be absent (ModernBERT)."""

    def __init__(self, width: int, eps: float, bias: bool = True) -> None:
        super().__init__(width, eps=eps, bias=bias)


class RMSNorm(Uninitialized, nn.RMSNorm):
    """RMS normalization, scaled by the weight (T5) or by 1 + the weight (Gemma 3)."""

    def __init__(self, width: int, eps: float, one_more: bool = False) -> None:
        super().__init__(width, eps=eps)
        self.one_more = one_more

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        if not self.one_more:
            return super().forward(x)
        # in 16 bits, 1 + a small weight would lose precision
        return F.rms_norm(x.float(), self.normalized_shape, 1 + self.weight.float(), self.eps).to(x.dtype)


def gated_activation(
    wide: Float[Tensor, "T W"], activation: Callable[[Tensor], Tensor], gated: int
) -> Float[Tensor, "T I"]:
    """The inner activations of a feed-forward network: activation(wide) or, with gates, activation(values) · gates.

    Args:
        gated: 0: no gates; 1: the first half of `wide` is values and the second half gates; 2: the reverse.
    """
    if not gated:
        return activation(wide)
    first, second = wide.chunk(2, dim=-1)
    return activation(first) * second if gated == 1 else activation(second) * first


def apply_dropout(x: Float[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set each value to 0 with probability p, and scale the rest to keep the mean (Srivastava et al. 2014).

    On a CPU, dropout spends most of its time drawing random numbers. One 64-bit draw therefore serves four values,
    which takes a third of the time of torch's own dropout; p is rounded to a multiple of 1/65,536.
    """
    threshold, count = round(p * 65536), x.numel()
    if x.device.type != "cpu" or threshold >= 65536:
        return F.dropout(x, p)
    bits = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(1 << 63), None).view(torch.int16)
    mask = (bits[:count].view(x.shape) >= threshold - 32768).to(x.dtype)
    return x * mask.mul_(65536 / (65536 - threshold))


class Dropout(nn.Dropout):
    """Dropout that draws its random numbers faster on a CPU."""

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return apply_dropout(x, self.p) if self.training and self.p else x


def without_dropout(model: nn.Module) -> None:
    """Set all dropout rates to 0 permanently, including those in attention; the config keeps its rates."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.0  # type: ignore[assignment]


class Embedding(Uninitialized, nn.Embedding):
    """An embedding table."""


def initialize_weights(model: nn.Module, deviation: float = 0.02) -> nn.Module:
    """Initialize weights as BERT's authors did: N(0, 0.02), biases 0, norms 1 (or 1 + 0), with torch's generator.

    LSTM weights are uniform in ±1/√width, and the row of the unknown word is zero.
    """
    for module in model.modules():
        if isinstance(module, nn.LSTM):
            for weight in module.parameters():
                nn.init.uniform_(weight, -(module.hidden_size**-0.5), module.hidden_size**-0.5)
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=deviation)
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            nn.init.zeros_(module.weight[module.padding_idx])
        if isinstance(module, nn.LayerNorm | nn.RMSNorm):
            nn.init.constant_(module.weight, 0.0 if getattr(module, "one_more", False) else 1.0)
        if isinstance(module, nn.Linear | nn.LayerNorm) and module.bias is not None:
            nn.init.zeros_(module.bias)
    return model
