"""The one inference loop: items (texts, or pairs of texts) to results in the order given, whatever computes them.

For each window of items: equal items are computed once, `tokenize` turns them into sequences and counts their tokens,
`compute` runs the sequences in batches of tokens (`WindowBatches.run`, which halves a batch where memory runs out and
restores the order), and every result is checked to be finite.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import setitem
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int

from .runtime.memory import batch_token_budget, check_finite
from .runtime.progress import Advance, Progress, show_progress
from .text.packing import in_batches
from .text.truncation import TruncationCounter

Item = TypeVar("Item", bound=Hashable)
Sequences = TypeVar("Sequences", bound=Sequence[Any])
Buffer = TypeVar("Buffer")
Block = TypeVar("Block")
Results = TypeVar("Results", Float[np.ndarray, "..."], list[Float[np.ndarray, "..."]])
"""A row per item, or an array per item."""
Rows = Int[np.ndarray, " items"]


@dataclass(frozen=True)
class InferenceRun:
    """What one call of a user shares among its windows: the count of tokens, the size of batches, the progress."""

    counter: TruncationCounter
    max_tokens: int
    precision: str
    advance: Advance


@contextmanager
def inference_run(
    counter: TruncationCounter,
    *,
    total: int | None,
    device: str,
    precision: str,
    progress: Progress = None,
    batch_tokens: int | None = None,
    threads: int = 1,
) -> Iterator[InferenceRun]:
    """A run over `total` items on this kind of device; at its end, or where it stops early, warns of what was cut.

    `threads` share the texts of a batch; it is 1 where they share single products instead.
    """
    max_tokens = batch_token_budget(batch_tokens, device, threads)
    try:
        with show_progress(progress, total) as advance:
            yield InferenceRun(counter, max_tokens, precision, advance)
    finally:
        counter.warn()


@dataclass(frozen=True)
class WindowBatches:
    """How the sequences of one window are computed; progress counts its `items`, repeated ones included."""

    items: int
    max_tokens: int
    advance: Advance

    def run(
        self,
        lengths: Sequence[int],
        attempt: Callable[[list[int]], Block | None],
        results: Buffer,
        store: Callable[[Buffer, list[int], Block], None] = setitem,  # type: ignore[assignment]
    ) -> Buffer:
        """Fills `results`: `attempt` computes the sequences of these indices, or returns None where memory ran out."""
        items_per_token = self.items / max(1, sum(lengths))
        for batch, block in in_batches(lengths, self.max_tokens, attempt):
            store(results, batch, block)
            tokens = sum(lengths[i] for i in batch)
            self.advance(items_per_token * tokens, tokens)
        return results


def infer(
    windows: Iterable[Sequence[Item]],
    tokenize: Callable[[list[Item], Rows], Sequences],
    compute: Callable[[Sequences, WindowBatches], Results],
    run: InferenceRun,
) -> Iterator[Results]:
    """The results of each window, in order.

    Args:
        windows: items, some at a time.
        tokenize: distinct items, and for every item of the window its position among them, to what `compute` takes;
            it adds the items to `run.counter`.
        compute: the results of the distinct items, in their order.
        run: what the windows share.
    """
    for window in windows:
        items, rows = distinct_items(window)
        sequences = tokenize(items, rows)
        results = compute(sequences, WindowBatches(len(window), run.max_tokens, run.advance))
        if len(items) < len(window):
            results = _repeated(results, rows)
        _check_finite(results, run, len(window))
        yield results


def distinct_items(items: Sequence[Item]) -> tuple[list[Item], Rows]:
    """Each different item once, and for every item its position among them."""
    positions = {item: i for i, item in enumerate(dict.fromkeys(items))}
    return list(positions), np.fromiter((positions[item] for item in items), np.int64, len(items))


def _repeated(results: Results, rows: Rows) -> Results:
    """A result for every item from those of the distinct items."""
    if isinstance(results, np.ndarray):
        return np.asarray(results[rows])
    return [results[row].copy() for row in rows]  # copies, so that changing one changes no other


def _check_finite(results: Results, run: InferenceRun, items: int) -> None:
    start = run.counter.texts - items
    if isinstance(results, np.ndarray):
        check_finite(results, run.counter.what, start, run.precision)
        return
    for i, result in enumerate(results):
        check_finite(result[None], run.counter.what, start + i, run.precision)
