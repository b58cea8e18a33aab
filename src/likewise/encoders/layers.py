"""The layers that every transformer here is built of, where they differ from torch's own.

None of them fills its weights when it is made: they come from a checkpoint, or from `initialize_weights`. (torch's way
costs a second on the meta device, where it imports a compiler to draw numbers that nobody will see.)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.optimizer import register_optimizer_step_post_hook

_HAS_ONEDNN: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
_PACK = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None) if _HAS_ONEDNN else None
_PACKED = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if _PACK else None
PACKS = _PACKED is not None
"""Whether this build of torch has oneDNN's products with weights laid out ahead of time."""


def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The Gaussian error linear unit, x Φ(x).

    Without gradients it works in place: taking new memory for the result can cost more than computing it.
    """
    return F.gelu(x) if torch.is_grad_enabled() else torch.ops.aten.gelu_(x)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_pytorch_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_fast": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_python": gelu,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "mish": F.mish,
    "tanh": torch.tanh,
    "relu": F.relu,
    "silu": F.silu,
    "swish": F.silu,
}


class _Steps:
    """How many steps any optimizer has made since a weight was first packed.

    Fused optimizers change weights without raising their version, and whose they are is not known, so torch is asked
    to report the steps of all. It is asked when a weight is first packed, never by an import.
    """

    count = 0
    watched = False

    @classmethod
    def one_more(cls, *_: Any) -> None:
        cls.count += 1

    @classmethod
    def watch(cls) -> None:
        if not cls.watched:
            cls.watched = True
            register_optimizer_step_post_hook(cls.one_more)


class _Packed(NamedTuple):
    source: Tensor
    mark: tuple[int, int, int]
    weight: Tensor


class Linear(nn.Linear):
    """y = x Wᵀ + b. Without gradients on a CPU, W is laid out once for oneDNN, which saves 10 % of the time in fp32."""

    _packed: _Packed | None = None

    def reset_parameters(self) -> None:
        """Nothing; see the file's head."""

    def forward(self, x: Float[Tensor, "... I"]) -> Float[Tensor, "... O"]:
        if (
            not PACKS
            or torch.is_grad_enabled()
            or x.device.type != "cpu"
            or x.dtype not in (torch.float32, torch.bfloat16)
            or torch.is_autocast_enabled("cpu")  # which chooses the precision of this product
            or self.weight.is_inference()  # such a tensor does not tell when it is changed
        ):
            return F.linear(x, self.weight, self.bias)
        return _PACKED(x, self.packed(), self.bias, "none", [], "")  # type: ignore[no-any-return,misc]

    def packed(self) -> Tensor:
        """The weight in oneDNN's own layout, made anew whenever the weight has changed.

        What was packed is held on to, so that its address cannot come to mean another weight. A change in place
        through `weight.data` tells nobody and is not noticed; one under `torch.no_grad()` or by an optimizer is.
        """
        known, mark = self._packed, (self.weight.data_ptr(), self.weight._version, _Steps.count)
        if known is None or known.mark != mark:
            _Steps.watch()
            source = self.weight.detach()
            known = _Packed(source, mark, _PACK(source))  # type: ignore[misc]
            self._packed = known
        return known.weight

    def _apply(self, *args: Any, **kwargs: Any) -> "Linear":
        self._packed = None  # the weight is about to move
        super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call]
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_packed"}


class LayerNorm(nn.LayerNorm):
    """Layer normalisation whose bias may be absent (ModernBERT)."""

    def __init__(self, width: int, eps: float, bias: bool = True) -> None:
        super().__init__(width, eps=eps, bias=bias)

    def reset_parameters(self) -> None:
        """Nothing; see the file's head."""


def apply_dropout(x: Float[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Each number 0 with probability p, the others larger by as much as keeps the mean (Srivastava et al. 2014).

    On a CPU drawing is what dropout costs, so 64 bits are drawn for four numbers, which takes a third of the time of
    torch's own; p is rounded to a 65,536th.
    """
    cut, count = round(p * 65536), x.numel()
    if x.device.type != "cpu" or cut >= 65536:
        return F.dropout(x, p)
    bits = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(1 << 63), None).view(torch.int16)
    kept = (bits[:count].view(x.shape) >= cut - 32768).to(x.dtype)
    return x * kept.mul_(65536 / (65536 - cut))


class Dropout(nn.Dropout):
    """Dropout that draws faster on a CPU."""

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return apply_dropout(x, self.p) if self.training and self.p else x


def without_dropout(model: nn.Module) -> None:
    """No dropout from here on, here and in attention; the config that says how much stays."""
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
        if hasattr(part, "attention_dropout"):
            part.attention_dropout = 0.0  # type: ignore[assignment]


class Embedding(nn.Embedding):
    """A table of vectors."""

    def reset_parameters(self) -> None:
        """Nothing; see the file's head."""


def initialize_weights(module: nn.Module, deviation: float = 0.02) -> nn.Module:
    """Fresh weights as BERT's authors drew them: N(0, 0.02), biases 0, norms 1. The generator is torch's own.

    An LSTM's are even in ±1/√width, and the row of an unknown word is zero.
    """
    for part in module.modules():
        if isinstance(part, nn.LSTM):
            for weight in part.parameters():
                nn.init.uniform_(weight, -(part.hidden_size**-0.5), part.hidden_size**-0.5)
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=deviation)
        if isinstance(part, nn.Embedding) and part.padding_idx is not None:
            nn.init.zeros_(part.weight[part.padding_idx])
        if isinstance(part, nn.LayerNorm):
            nn.init.ones_(part.weight)
        if isinstance(part, nn.Linear | nn.LayerNorm) and part.bias is not None:
            nn.init.zeros_(part.bias)
    return module
