"""The device and precision of a model."""

import os
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import torch
from torch import nn

from ..errors import BadInput, is_out_of_memory_error
from .arguments import known_name

T = TypeVar("T")
Module = TypeVar("Module", bound=nn.Module)
Precision = Literal["fp32", "bf16", "fp16"]

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def device_and_dtype(device: str | torch.device | None, precision: str | None) -> tuple[torch.device, torch.dtype]:
    """The device and data type to compute with; by default the first GPU, if any, with bf16 on CUDA, otherwise fp32."""
    best = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    place = _device(best if device is None else device)
    if place.type == "cuda" and place.index is None and "LOCAL_RANK" in os.environ:
        place = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % max(1, torch.cuda.device_count()))
    if device is not None:
        try:  # copy one number there and back, so that an unusable device is reported before a model is read
            torch.zeros(1, device=place).cpu()
        except Exception as error:  # RuntimeError, AssertionError or NotImplementedError, depending on the device
            raise _unusable(str(place), error) from None
    if precision is None:
        precision = "bf16" if place.type == "cuda" else "fp32"
    return place, PRECISIONS[known_name("precision", precision, PRECISIONS)]


class MovableModule(nn.Module):
    """A torch module whose `to` and `cuda` report a missing device in one sentence, just as `load` does."""

    def to(self: Module, *args: Any, **kwargs: Any) -> Module:
        return _moved(super().to, *args, **kwargs)

    def cuda(self: Module, device: int | torch.device | None = None) -> Module:
        return _moved(super().cuda, device)


def leave_training_mode(model: nn.Module) -> None:
    """Put the model into eval mode if any part of it is in training mode, as sentence-transformers does.

    Otherwise, dropout would make vectors and scores random.
    """
    if any(part.training for part in model.modules()):
        model.eval()


def _moved(move: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    try:
        return move(*args, **kwargs)
    except (AssertionError, NotImplementedError, RuntimeError) as error:  # depending on the device
        if is_out_of_memory_error(error):
            raise
        named = (value for value in (*args, *kwargs.values()) if isinstance(value, str | torch.device))
        raise _unusable(str(_device(next(named, "cuda"))), error) from None


def precision_name(dtype: torch.dtype) -> str:
    """The name of the precision that uses this data type; for any other type, its own name, such as float64."""
    return next((name for name, known in PRECISIONS.items() if known == dtype), str(dtype).removeprefix("torch."))


def none_if_out_of_memory(make: Callable[[], T]) -> T | None:
    """The result of calling `make`, or None if it ran out of memory."""
    try:
        return make()
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory_error(error):
            raise
        return None


def _device(asked: str | torch.device) -> torch.device:
    try:
        return torch.device(asked)
    except (RuntimeError, TypeError):
        raise BadInput(f"unknown device {asked!r}; expected cpu, cuda, cuda:1, mps or another torch device") from None


def _unusable(place: str, error: BaseException) -> BadInput:
    why = (str(error).strip() or type(error).__name__).splitlines()[0][:160]
    return BadInput(f"the device {place!r} cannot be used on this machine: {why}")
