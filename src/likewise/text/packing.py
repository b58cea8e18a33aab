"""Which sentences share a batch: longest first, never more than a budget of tokens in one batch."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from ..errors import OutOfMemory

T = TypeVar("T")


def plan_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """A list of sentence indices for each batch; a sentence longer than the budget is alone in its batch.

    Packed tokens need no padding, so a batch costs the sum of its lengths. Sorting is still useful: sentences of equal
    length become neighbours, which attention on a CPU treats as one block (`Ragged.runs`), and the largest batch comes
    first, so that memory runs out at once or not at all.
    """
    if budget < 1:
        raise ValueError(f"the budget of a batch is {budget} tokens; expected at least 1")
    batches: list[list[int]] = []
    remaining = 0
    for i in np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable").tolist():
        if not batches or lengths[i] > remaining:
            batches.append([])
            remaining = budget
        batches[-1].append(i)
        remaining -= lengths[i]
    return batches


def in_batches(
    lengths: Sequence[int], budget: int, attempt: Callable[[list[int]], T | None]
) -> Iterator[tuple[list[int], T]]:
    """Each planned batch and the result of `attempt` for it.

    `attempt` returns None where memory ran out; the batch is then halved and tried again, and no later batch is as
    large as the one that failed.

    Raises:
        OutOfMemory: a single text does not fit.
    """
    pending = plan_batches(lengths, budget)[::-1]
    limit = budget
    while pending:
        batch = pending.pop()
        size = sum(lengths[i] for i in batch)
        if len(batch) == 1 or size <= limit:
            result = attempt(batch)
            if result is not None:
                yield batch, result
                continue
            if len(batch) == 1:
                raise OutOfMemory(f"there is not enough memory for a single text of {size:,} tokens")
            limit = size // 2
        half = len(batch) // 2
        pending += [batch[half:], batch[:half]]
