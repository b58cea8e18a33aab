"""Where a model computes: the device, the precision, and what running out of memory is."""

import os
from collections.abc import Callable
from typing import Literal, TypeVar

import torch

from .errors import BadInput

T = TypeVar("T")
Precision = Literal["fp32", "bf16", "fp16"]

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
OUT_OF_MEMORY = ("out of memory", "not enough memory", "allocate memory")
"""What torch's plain RuntimeErrors say when memory runs out."""


def placed(device: str | torch.device | None, precision: Precision | None) -> tuple[torch.device, torch.dtype]:
    """Where to compute and in what: the first GPU, if any (under torchrun each process its own); bf16 on CUDA.

    Raises:
        BadInput: torch knows no such device, or there is no such precision.
    """
    place = _device(device) if device is not None else _best_device()
    if place.type == "cuda" and place.index is None and "LOCAL_RANK" in os.environ:
        place = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % max(1, torch.cuda.device_count()))
    precision = precision or ("bf16" if place.type == "cuda" else "fp32")
    if precision not in PRECISIONS:
        raise BadInput(f"there is no precision {precision!r}; there are {', '.join(PRECISIONS)}")
    return place, PRECISIONS[precision]


def precision_of(dtype: torch.dtype) -> str:
    """The name of a precision."""
    return next(name for name, known in PRECISIONS.items() if known == dtype)


def unless_full(make: Callable[[], T]) -> T | None:
    """What `make` makes, or None where memory ran out."""
    try:
        return make()
    except (torch.OutOfMemoryError, MemoryError):
        return None
    except RuntimeError as error:
        if not any(sign in str(error) for sign in OUT_OF_MEMORY):
            raise
        return None


def _device(told: str | torch.device) -> torch.device:
    try:
        return torch.device(told)
    except (RuntimeError, TypeError):
        raise BadInput(f"there is no device {told!r}; wanted cpu, cuda, cuda:1, mps or another of torch's") from None


def _best_device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
