"""Job: one request on its way through a model's queue: its inputs, what has been computed of them, and its timings."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float


class TokenizedInput(NamedTuple):
    """One input of a model: what is computed, and how much of the text that is."""

    sequence: Any
    """What the model's work takes: a window of ids, or a pair of them."""
    size: int
    """Tokens that are computed, special ones included."""
    tokens: int
    """Tokens of the whole text, special ones not counted."""
    used: int
    """Those of them that the model reads."""


class Truncation(NamedTuple):
    """A text of which the model reads only a part."""

    position: int
    tokens: int
    used: int


@dataclass
class Timings:
    """Seconds of one request; a batch's seconds count for each request that has a part in it."""

    arrived: float = field(default_factory=time.perf_counter)
    tokenization: float = 0.0
    inference: float = 0.0
    total: float = 0.0

    @property
    def queue(self) -> float:
        """What is neither tokenization nor inference."""
        return max(0.0, self.total - self.tokenization - self.inference)


@dataclass(eq=False)
class Job:
    """Inputs of one request. In a queue, only the model's thread changes it; cancelling `future` drops it."""

    inputs: Sequence[Any]
    prompt: str = ""
    refuse_truncation: bool = False
    deadline: float = float("inf")
    """On the clock of `time.perf_counter`."""
    future: "asyncio.Future[Job] | None" = None
    tokenized: list[TokenizedInput] = field(default_factory=list)
    taken: int = 0
    done: int = 0
    rows: Float[np.ndarray, "N E"] | None = None
    tokens: int = 0
    """Tokens that were computed, special ones included."""
    truncated: list[Truncation] = field(default_factory=list)
    timings: Timings = field(default_factory=Timings)
    error: BaseException | None = None

    @property
    def untokenized(self) -> int:
        """How many inputs have not been tokenized."""
        return len(self.inputs) - len(self.tokenized)

    @property
    def is_ready(self) -> bool:
        """Whether its next input is tokenized."""
        return self.taken < len(self.tokenized)

    def next_inputs(self, most: int, characters: int) -> Sequence[Any]:
        """The next inputs to tokenize: one at least, and no further one behind so many characters."""
        first = stop = len(self.tokenized)
        while stop < min(len(self.inputs), first + most) and characters > 0:
            characters -= input_length(self.inputs[stop])
            stop += 1
        return self.inputs[first:stop]

    def forget(self, index: int) -> None:
        """Note that an input has been computed: its tokens are of no use any more."""
        self.tokenized[index] = COMPUTED
        self.done += 1

    def add_tokenized(self, found: Sequence[TokenizedInput]) -> None:
        """Note the next inputs, and those that lose tokens."""
        for one in found:
            if one.used < one.tokens:
                self.truncated.append(Truncation(len(self.tokenized), one.tokens, one.used))
            self.tokens += one.size
            self.tokenized.append(one)

    def settle(self) -> None:
        """Hand the result, or the error, to who waits; on the event loop."""
        self.timings.total = time.perf_counter() - self.timings.arrived
        if self.future is None or self.future.done():
            return
        if self.error is None:
            self.future.set_result(self)
        else:
            self.future.set_exception(self.error)


COMPUTED = TokenizedInput(None, 0, 0, 0)
"""In the place of an input that has been computed."""


def input_length(one: Any) -> int:
    """Characters of a text or of a pair of them; of token ids, how many there are."""
    if isinstance(one, tuple):
        return sum(map(len, one))
    return len(one) if isinstance(one, str | list) else 1


@dataclass(eq=False)
class Call:
    """A function that has the model to itself for once, between two batches."""

    function: Callable[[], Any]
    future: "asyncio.Future[Any]"
    result: Any = None
    error: BaseException | None = None

    def compute(self) -> None:
        """Run it, on the model's thread."""
        if self.future.cancelled():
            return
        try:
            self.result = self.function()
        except Exception as error:
            self.error = error

    def settle(self) -> None:
        """Hand over the result, on the event loop."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)
