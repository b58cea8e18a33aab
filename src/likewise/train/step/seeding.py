"""What is drawn in training hangs on the run's seed, the step and the process alone, so that no state need be kept."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor


@contextmanager
def borrowed_generators(device: torch.device) -> Iterator[None]:
    """Inside, torch's generators may be seeded at will; after, they are the caller's again, as they were."""
    before = states(device)
    try:
        yield
    finally:
        restore_states(before, device)


def seed(device: torch.device, *words: int) -> None:
    """Seeds torch's generators of the CPU and of this device from whole numbers, 0 or more.

    Neighbouring numbers give seeds that have nothing to do with each other (NumPy's `SeedSequence`).
    """
    number = int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])
    torch.default_generator.manual_seed(number)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(number)
    elif device.type != "cpu":
        _own(device).manual_seed(number)


def states(device: torch.device) -> list[Tensor]:
    """Of the generators that dropout draws from there: the CPU's, and the device's own."""
    found = [torch.get_rng_state()]
    return found if device.type == "cpu" else [*found, _own(device).get_rng_state(*_which(device))]


def restore_states(found: Sequence[Tensor], device: torch.device) -> None:
    """The generators draw again what they drew when these were their states."""
    torch.set_rng_state(found[0])
    for own in found[1:]:
        _own(device).set_rng_state(own, *_which(device))


def _own(device: torch.device) -> Any:
    """torch.cuda, torch.mps …"""
    return torch.get_device_module(device)


def _which(device: torch.device) -> tuple[torch.device, ...]:
    """Apple's GPU is the only one of its kind, and its functions take no device."""
    return () if device.type == "mps" else (device,)
