"""Which sentences share a batch: longest first, never more than a budget of tokens."""

from collections.abc import Sequence

import numpy as np


def plan(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Indices of sentences, a list a batch; a sentence longer than the budget has a batch to itself.

    Packed tokens need no padding, so a batch costs the sum of its lengths. Sorting still serves: equal lengths
    come to lie side by side, which lets attention on a CPU treat them as one block (`Ragged.runs`), and the
    largest batch comes first, so that memory runs out at once or not at all.
    """
    if budget < 1:
        raise ValueError(f"a batch needs room for at least one token; the budget was {budget}")
    batches: list[list[int]] = []
    room = 0
    for i in np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable").tolist():
        if not batches or lengths[i] > room:
            batches.append([])
            room = budget
        batches[-1].append(i)
        room -= lengths[i]
    return batches
