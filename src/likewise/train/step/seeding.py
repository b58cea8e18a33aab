"""Seeds computed only from the run's seed, the step and the process, so that no generator state needs to be saved."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor


@contextmanager
def borrowed_generators(device: torch.device) -> Iterator[None]:
    """Inside the context, torch's generators may be seeded freely; afterwards the caller's state is restored."""
    before = generator_states(device)
    try:
        yield
    finally:
        restore_generators(before, device)


def seed(device: torch.device, *numbers: int) -> None:
    """Seed torch's generators for the CPU and this device from whole numbers of 0 or more.

    Adjacent numbers give unrelated seeds (NumPy's `SeedSequence`).
    """
    number = int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
    torch.default_generator.manual_seed(number)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(number)
    elif device.type != "cpu":
        torch.get_device_module(device).manual_seed(number)


def generator_states(device: torch.device) -> list[Tensor]:
    """The states of the generators that dropout uses on this device: the CPU's, and the device's own."""
    states = [torch.get_rng_state()]
    if device.type == "cpu":
        return states
    return [*states, torch.get_device_module(device).get_rng_state(*_device_argument(device))]


def restore_generators(states: Sequence[Tensor], device: torch.device) -> None:
    torch.set_rng_state(states[0])
    for state in states[1:]:
        torch.get_device_module(device).set_rng_state(state, *_device_argument(device))


def _device_argument(device: torch.device) -> tuple[torch.device, ...]:
    """The functions of torch.mps take no device, since there is only one."""
    return () if device.type == "mps" else (device,)
