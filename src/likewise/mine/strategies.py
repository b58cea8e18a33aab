"""Which of the candidates that rules left become negatives: rows of `STRATEGIES`."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Int

Positions = Int[np.ndarray, " _"]


def hardest(places: Positions, k: int, draw: np.random.Generator) -> Positions:  # noqa: ARG001
    """The hardest."""
    return places[:k]


def random_choice(places: Positions, k: int, draw: np.random.Generator) -> Positions:
    """Any, each as likely as another."""
    return places[np.sort(draw.choice(len(places), k, replace=False))]


def evenly_spread(places: Positions, k: int, draw: np.random.Generator) -> Positions:  # noqa: ARG001
    """From hard to easy: the middle of each of k equal parts."""
    return places[((np.arange(k) + 0.5) * len(places) / k).astype(np.int64)]


STRATEGIES: dict[str, Callable[[Positions, int, np.random.Generator], Positions]] = {
    "top": hardest,
    "random": random_choice,
    "spread": evenly_spread,
}
"""Places of k or more candidates, nearest first, to k of them in the same order."""
