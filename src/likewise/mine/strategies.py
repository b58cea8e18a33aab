"""Which of the candidates that the rules kept become negatives: rows of `STRATEGIES`."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Int

Positions = Int[np.ndarray, " _"]


def hardest(positions: Positions, k: int, generator: np.random.Generator) -> Positions:  # noqa: ARG001
    """The k nearest."""
    return positions[:k]


def random_choice(positions: Positions, k: int, generator: np.random.Generator) -> Positions:
    """Any k, all equally likely."""
    return positions[np.sort(generator.choice(len(positions), k, replace=False))]


def evenly_spread(positions: Positions, k: int, generator: np.random.Generator) -> Positions:  # noqa: ARG001
    """From hard to easy: the middle of each of k equal parts."""
    return positions[((np.arange(k) + 0.5) * len(positions) / k).astype(np.int64)]


STRATEGIES: dict[str, Callable[[Positions, int, np.random.Generator], Positions]] = {
    "top": hardest,
    "random": random_choice,
    "spread": evenly_spread,
}
"""Positions of k or more candidates, nearest first, to k of them in the same order."""
