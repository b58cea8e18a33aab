"""What is drawn in training hangs on the run's seed, the step and the process alone, so that no state need be kept."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def lent(device: torch.device) -> Iterator[None]:
    """Inside, torch's generators may be seeded at will; after, they are the caller's again, as they were."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        yield


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
        torch.get_device_module(device).manual_seed(number)
