"""Contenders timed in turn, so that a shared machine's drift happens to all of them."""

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any


def in_turn(contenders: Mapping[str, Callable[[], Any]], rounds: int = 5) -> dict[str, list[float]]:
    """Seconds of each contender in each round: A B C, A B C, … after one round that is not counted.

    These machines are shared and their speed drifts; what happens to one contender in a round happens to the others.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for round_ in range(rounds + 1):
        for name, work in contenders.items():
            began = time.perf_counter()
            work()
            if round_:
                seconds[name].append(time.perf_counter() - began)
    return seconds


def ratio(seconds: Mapping[str, list[float]], of: str, to: str) -> float:
    """The median over rounds of how many times faster `of` was than `to` in that round."""
    return median(b / a for a, b in zip(seconds[of], seconds[to], strict=True))
