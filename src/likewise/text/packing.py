"""Which sentences share a batch: longest first, never more than a budget of tokens."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from ..errors import OutOfMemory

T = TypeVar("T")


def plan_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
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


def in_batches(
    lengths: Sequence[int], budget: int, attempt: Callable[[list[int]], T | None]
) -> Iterator[tuple[list[int], T]]:
    """Each batch of the plan and what `attempt` made of it.

    `attempt` gives None where memory ran out; the batch is then halved and tried again, and no later batch is as
    large as the one that failed.
    """
    waiting = plan_batches(lengths, budget)[::-1]
    limit = budget
    while waiting:
        batch = waiting.pop()
        size = sum(lengths[i] for i in batch)
        if len(batch) == 1 or size <= limit:
            made = attempt(batch)
            if made is not None:
                yield batch, made
                continue
            if len(batch) == 1:
                raise OutOfMemory(f"memory does not suffice for one single text of {size:,} tokens")
            limit = size // 2
        half = len(batch) // 2
        waiting += [batch[half:], batch[:half]]
