"""The inference loop that all engines share: from items (texts, or pairs of texts) to results, in the same order.

In each chunk of items, duplicates are computed only once: `tokenize` turns the distinct items into sequences and counts
their tokens, `compute` runs the sequences in batches of tokens (`WindowBatches.run`, which halves a batch if memory
runs out and restores the order), and every result is checked for NaN and infinity.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from .array_types import Float, Int
from .arrays.sequences import Sequences
from .errors import BadInput, BadModel, OutOfMemory, is_out_of_memory_error
from .runtime.progress import Advance, Progress, show_progress
from .text.inputs import Windows
from .text.truncation import TruncationCounter

Item = TypeVar("Item", bound=Hashable)
Inputs = TypeVar("Inputs")
Buffer = TypeVar("Buffer", bound=Any)
"""An array of rows, or a list of one array per item."""
Block = TypeVar("Block")
Results = TypeVar("Results", Float[np.ndarray, "..."], list[Float[np.ndarray, "..."]])
"""One row per item, or one array per item."""
Rows = Int[np.ndarray, " items"]

LARGEST_BUDGET = 1 << 62  # adding token counts to it does not overflow 64 bits
TOKENS_PER_BATCH = {"cpu": 2048, "cuda": 65_536, "mps": 16_384}
"""Tokens per batch, by device. The CPU value was chosen by measuring; benchmarks/gpu.py compares values for GPUs."""


@dataclass(frozen=True)
class InferenceRun:
    """The state that all chunks of one call share: token counts, batch size, precision and progress."""

    counter: TruncationCounter
    max_tokens: int
    precision: str
    advance: Advance


@contextmanager
def inference_run(
    model: Any, counter: TruncationCounter, total: int | None, show_progress_bar: Progress, batch_tokens: int | None
) -> Iterator[InferenceRun]:
    """A run of an embedder or reranker over `total` items; when it ends, even early, it warns about truncated texts."""
    max_tokens = batch_token_budget(batch_tokens, str(model.device).partition(":")[0], model.batch_threads)
    try:
        shown = nullcontext(unseen) if show_progress_bar is False else show_progress(show_progress_bar, total)
        with shown as advance:
            yield InferenceRun(counter, max_tokens, model.precision, advance)
    finally:
        counter.warn()


def unseen(texts: float, tokens: int) -> None:
    """Ignore progress, because nobody asked to see it."""


def batch_token_budget(asked: int | None, device: str, threads: int = 1) -> int:
    """Tokens per batch: the number requested, or the device's default times the threads that share a batch."""
    if asked is None:
        return TOKENS_PER_BATCH.get(device, TOKENS_PER_BATCH["cpu"]) * threads
    if isinstance(asked, bool) or not isinstance(asked, Integral) or asked < 1:
        raise BadInput(f"batch_tokens is {asked!r}; expected a whole number above 0")
    return min(int(asked), LARGEST_BUDGET)


def infer(
    chunks: Iterable[Sequence[Item]],
    tokenize: Callable[[list[Item], Rows], Inputs],
    compute: Callable[[Inputs, "WindowBatches"], Results],
    run: InferenceRun,
) -> Iterator[Results]:
    """The results of each chunk, in order.

    Args:
        chunks: the items, in sequences of any length.
        tokenize: receives a chunk's distinct items, and each item's position among them; returns the input of
            `compute`, and adds the items to `run.counter`.
        compute: returns the results of the distinct items, in order.
        run: the state that the chunks share.
    """
    for chunk in chunks:
        items, rows = distinct_items(chunk)
        results = compute(tokenize(items, rows), WindowBatches(len(chunk), run.max_tokens, run.advance))
        if len(items) < len(chunk):
            results = _repeated(results, rows)
        what, start = run.counter.what, run.counter.texts - len(chunk)
        if isinstance(results, np.ndarray):
            check_finite(results, what, start, run.precision)
        else:
            for i, result in enumerate(results, start):
                check_finite(result[None], what, i, run.precision)
        yield results


def distinct_items(items: Sequence[Item]) -> tuple[list[Item], Rows]:
    """The distinct items, and the position of every item among them."""
    distinct = list(dict.fromkeys(items))
    if len(distinct) == len(items):
        return distinct, np.arange(len(items))
    positions = dict(zip(distinct, range(len(distinct)), strict=True))
    return distinct, np.fromiter(map(positions.__getitem__, items), np.int64, len(items))


def _repeated(results: Results, rows: Rows) -> Results:
    if isinstance(results, np.ndarray):
        return np.asarray(results[rows])
    return [results[row].copy() for row in rows]  # copies, so that changing one does not change another


def check_finite(rows: Float[np.ndarray, "n ..."], what: str, start: int, precision: str) -> None:
    """Raise an error if a row contains NaN or infinity; the message names the first such row `what[start + row]`."""
    finite = np.isfinite(rows)
    if finite.all():
        return
    first = start + int(np.argmin(finite.all(tuple(range(1, rows.ndim)))))
    hint = "" if precision == "fp32" else '; try precision="fp32"'
    raise BadModel(f"{what}[{first}] gave a vector that is not finite in {precision}{hint}")


@dataclass(frozen=True)
class WindowBatches:
    """Runs the sequences of one chunk in batches; progress counts all of the chunk's `items`, including duplicates."""

    items: int
    max_tokens: int
    advance: Advance = unseen

    def run(self, lengths: Int[np.ndarray, " n"], compute: Callable[[Rows], Any], results: Buffer) -> Buffer:
        """Fill `results`; `compute` returns the results of the sequences with these indices."""
        items_per_token = self.items / max(1, int(lengths.sum()))
        for batch, tokens, block in in_batches(lengths, self.max_tokens, compute):
            if isinstance(results, list):
                for i, one in zip(batch, block, strict=True):
                    results[i] = one
            else:
                results[batch] = block
            self.advance(items_per_token * tokens, tokens)
        return results

    def run_windows(
        self, windows: Windows, compute: Callable[[Sequences, Rows | None], Any], results: Buffer
    ) -> Buffer:
        """Fill `results` by calling `compute(tokens, skips)`; `skips` is None if no window hides tokens."""
        tokens, skips = windows.tokens, windows.skips
        return self.run(
            tokens.lengths, lambda rows: compute(tokens.take(rows), None if skips is None else skips[rows]), results
        )


def in_batches(
    lengths: Sequence[int] | Int[np.ndarray, " n"], budget: int, compute: Callable[[Rows], Block]
) -> Iterator[tuple[Rows, int, Block]]:
    """Each planned batch, its number of tokens, and the result of `compute` for it.

    If memory runs out, the batch is halved and computed again, and no later batch is as large as the one that failed.
    """
    lengths = np.asarray(lengths, np.int64)
    pending = plan_batches(lengths, budget)[::-1]
    limit = budget
    while pending:
        batch = pending.pop()
        size = int(lengths[batch].sum())
        if len(batch) == 1 or size <= limit:
            try:
                result = compute(batch)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory_error(error):
                    raise
                if len(batch) == 1:
                    raise OutOfMemory(f"there is not enough memory for a single text of {size:,} tokens") from None
                limit = size // 2
            else:
                yield batch, size, result
                continue
        half = len(batch) // 2
        pending += [batch[half:], batch[:half]]


def plan_batches(lengths: Sequence[int] | Int[np.ndarray, " n"], budget: int) -> list[Rows]:
    """The indices of the sentences in each batch, longest first; a sentence over the token budget gets its own batch.

    Packed tokens need no padding, so a batch costs the sum of its lengths. Sorting is still useful: sentences of equal
    length become neighbours, which attention on a CPU treats as one block (`Ragged.runs`), and the largest batch comes
    first, so that memory runs out at once or not at all.
    """
    if budget < 1:
        raise ValueError(f"the budget of a batch is {budget} tokens; expected at least 1")
    sizes = np.asarray(lengths, np.int64)
    order = np.argsort(-sizes, kind="stable")
    totals = np.concatenate([[0], np.cumsum(sizes[order])])
    batches, start = [], 0
    while start < len(order):
        fitting = int(np.searchsorted(totals, totals[start] + budget, side="right")) - 1
        stop = max(start + 1, fitting)
        batches.append(order[start:stop])
        start = stop
    return batches
