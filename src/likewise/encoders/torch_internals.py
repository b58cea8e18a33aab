"""All uses of torch's private or undocumented operators and attributes, which may change.

tests/encoders/test_torch_internals.py fails if another file uses any of them.
"""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from ..array_types import Float

Tensors = list[Tensor] | tuple[Tensor, ...]

_HAS_ONEDNN: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
_REORDER = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None) if _HAS_ONEDNN else None
_LINEAR = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if _REORDER else None

HAS_PACKED_LINEAR = _LINEAR is not None  # whether this build of torch has oneDNN's linear layer with prepacked weights

HAS_BF16_PRODUCTS: bool = _HAS_ONEDNN and torch.ops.mkldnn._is_mkldnn_bf16_supported()
"""Whether oneDNN supports bf16 matmuls on this processor (AVX-512 or newer). If not, torch's own bf16 matmuls would
take 8 times as long as in fp32, so bf16 matrices are multiplied in fp32 and the result is rounded."""


def pack_linear_weight(weight: Float[Tensor, "O I"]) -> Tensor:
    """The weight in oneDNN's own layout, in fp32 if bf16 matmuls are not supported."""
    return _REORDER(weight if HAS_BF16_PRODUCTS else weight.float())  # type: ignore[no-any-return,misc]


def packed_linear(x: Float[Tensor, "... I"], packed: Tensor, bias: Tensor | None) -> Float[Tensor, "... O"]:
    """Compute y = x Wᵀ + b in the precision of x, with W packed by `pack_linear_weight`."""
    bias = None if bias is None else bias.to(packed.dtype)
    return _LINEAR(x.to(packed.dtype), packed, bias, "none", [], "").to(x.dtype)  # type: ignore[no-any-return,misc]


def version(tensor: Tensor) -> int:
    """The number of in-place changes to a tensor, not counting those through `tensor.data` or by fused optimizers."""
    return tensor._version


def gelu_in_place(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The Gaussian error linear unit, in place."""
    return torch.ops.aten.gelu_(x)  # type: ignore[no-any-return]


def move_parameter_to_end(module: nn.Module, name: str) -> None:
    """Make a parameter the last of its module, in the order of `parameters()` and of `state_dict()`."""
    module._parameters[name] = module._parameters.pop(name)


class NotifiedOfMoves(nn.Module):
    """A module whose `before_move` is called before its weights are moved or converted."""

    @abstractmethod
    def before_move(self) -> None:
        """Prepare for a change of the weights' device or precision."""

    def _apply(self, *args: Any, **kwargs: Any) -> "NotifiedOfMoves":
        self.before_move()
        super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call]
        return self


def foreach(operation: str, tensors: Tensors, *arguments: Any, **options: Any) -> Any:
    """Apply a torch operation, such as `lerp_`, to lists of tensors; in place if its name ends in an underscore."""
    return getattr(torch, f"_foreach_{operation}")(tensors, *arguments, **options)
