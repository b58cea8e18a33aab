"""Batching: each model has a queue, and a thread that computes the requests in fair batches of tokens.

The thread never waits for a batch to fill: it computes whatever is queued. Requests that arrive in the meantime form
the next batch, so batches grow with the load, and a single request is computed immediately.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import attrgetter
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Float
from ..errors import TooLong
from .serve_settings import ServeSettings
from .web.api_errors import ApiError

AHEAD, AHEAD_IN_COMPANY = 128, 8
"""Number of inputs of one request to tokenize at a time: normally the first, the second while small requests arrive."""
AHEAD_CHARACTERS = 100_000
"""Characters of one request to tokenize at a time, plus the rest of the last text; this takes about 50 ms."""
SMALL = 8
"""Requests with at most this many inputs count as small: a user is probably waiting for the response."""
QUIET_SECONDS = 1.0
"""Seconds after the last small request until large requests may fill whole batches again."""
SMOOTHING = 0.1
"""The weight of the latest batch in the moving averages of the time per token and per input."""
LEAST_SHARE = 16
"""Tokens in a batch that large requests may always use."""


class TokenizedInput(NamedTuple):
    """One tokenized input of a request."""

    sequence: Any
    """For an embedder, a `Windows` and the index of one window in it; for a reranker, the token ids of a text pair."""
    size: int
    """Number of tokens to compute, including special tokens."""
    tokens: int
    """Number of tokens in the whole text, excluding special tokens."""
    used: int
    """How many of the text's tokens the model reads."""


COMPUTED = TokenizedInput(None, 0, 0, 0)
"""Placeholder for an input that has been computed."""
size_of = attrgetter("size")


@dataclass(eq=False)
class Job:
    """The inputs of one request, and its results.

    While a job is queued, only the model's thread changes it; cancelling `future` removes it from the queue.
    """

    inputs: Sequence[Any]
    prompt: str = ""
    refuse_truncation: bool = False
    future: "asyncio.Future[Job] | None" = None
    tokenized: list[TokenizedInput] = field(default_factory=list)
    taken: int = 0
    done: int = 0
    rows: Float[np.ndarray, "N E"] | None = None
    tokens: int = 0
    """Number of tokens computed, including special tokens."""
    truncated: list[dict[str, int]] = field(default_factory=list)
    """The truncated inputs, as reported in responses."""
    error: BaseException | None = None
    arrived: float = field(default_factory=time.perf_counter)
    tokenization: float = 0.0
    """Seconds spent on tokenization; each request is charged the full time of its batches, as in `inference`."""
    inference: float = 0.0
    queue: float = 0.0
    """Seconds between arrival and result that were spent on neither tokenization nor inference."""

    def next_inputs(self, most: int, characters: int) -> Sequence[Any]:
        """Return the next inputs to tokenize: 1 to `most` of them, until they have this many characters."""
        if len(self.inputs) == 1:
            return self.inputs
        first = stop = len(self.tokenized)
        while stop < min(len(self.inputs), first + most) and characters > 0:
            one = self.inputs[stop]
            characters -= sum(map(len, one)) if isinstance(one, tuple) else len(one)
            stop += 1
        return self.inputs[first:stop]

    def add_tokenized(self, inputs: Iterable[TokenizedInput]) -> None:
        """Append tokenized inputs, and record which of them were truncated."""
        for one in inputs:
            if one.used < one.tokens:
                self.truncated.append({"index": len(self.tokenized), "tokens": one.tokens, "used": one.used})
            self.tokens += one.size
            self.tokenized.append(one)


@dataclass(eq=False)
class Call:
    """A function that runs once with exclusive use of the model, between two batches."""

    function: Callable[[], Any]
    future: "asyncio.Future[Any]"
    result: Any = None
    error: BaseException | None = None

    def compute(self) -> None:
        """Run the function on the model's thread if a request is still waiting for it."""
        if not self.future.cancelled():
            try:
                self.result = self.function()
            except Exception as error:
                self.error = error


def settle(one: Job | Call) -> None:
    """Deliver a result or an error to the waiting request; called on the event loop."""
    if one.future is None or one.future.done():
        return
    if one.error is not None:
        one.future.set_exception(one.error)
    else:
        one.future.set_result(one.result if isinstance(one, Call) else one)


Slot = tuple[Job, int, TokenizedInput]
"""A slot in a batch: a job, the position of an input in the job, and the tokenized input."""


def too_long(name: str, tokens: int, used: int) -> TooLong:
    """Create the error for a text that would be truncated although the request forbids truncation."""
    how = 'Allow truncation ("truncate": true) or send a shorter text'
    return TooLong(f"{name} has {tokens:,} tokens, and the model reads {used:,} of them. {how}")


def next_batch(jobs: deque[Job], budget: int, share: int) -> list[Slot]:
    """Choose the inputs to compute next; jobs with inputs left stay in the queue.

    Each job contributes one input in turn, up to `budget` tokens, so that no request stalls another. In further rounds,
    jobs with more inputs contribute one each, as long as the batch stays within `share` tokens (at most `budget`). The
    first input is always included, regardless of its size. The next batch continues where this one ended.
    """
    share = min(share, budget)
    batch: list[Slot] = []
    aside: list[Job] = []  # jobs whose next inputs are not tokenized yet
    tokens, first_round = 0, len(jobs)
    while jobs:
        job = jobs[0]
        if job.taken < len(job.tokenized):
            content = job.tokenized[job.taken]
            if batch and tokens + content.size > (budget if first_round > 0 else share):
                break
            batch.append((job, job.taken, content))
            tokens += content.size
            job.taken += 1
        jobs.popleft()
        first_round -= 1
        if job.taken < len(job.tokenized):
            jobs.append(job)
        elif len(job.tokenized) < len(job.inputs):
            aside.append(job)
    jobs.extend(aside)
    return batch


BatchObserver = Callable[[int, int, float], None]
"""Records the inputs, tokens and seconds of a batch; called on a model's thread."""


class ModelThread:
    """A model's queue and its thread. Call `submit`, `call` and `close` on the event loop.

    `work` tokenizes and computes the inputs, like `EmbedderWork` and `RerankerWork` in `model_store.py`.
    """

    def __init__(self, name: str, work: Any, settings: ServeSettings, observe: BatchObserver) -> None:
        self.name, self.work, self.settings = name, work, settings
        self.waiting_requests = self.waiting_inputs = 0
        self._observe = observe
        self._arrivals: SimpleQueue[list[Job | Call] | None] = SimpleQueue()
        self._jobs, self._calls = deque[Job](), deque[Call]()
        self._finished: list[Job | Call] = []
        self._posted: list[Job | Call] = []
        self._seconds_per_token, self._seconds_per_input = 1e-5, 1e-4
        self._last_small = float("-inf")
        self._is_open = True
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name=f"model {name}", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> "asyncio.Future[Job]":
        """Queue a request; its future resolves to the computed job. Raises ApiError if the queue is full or closed."""
        inputs = len(job.inputs)
        self._admit(self.waiting_inputs and self.waiting_inputs + inputs > self.settings.max_waiting_texts)
        job.future = self._loop.create_future()
        self.waiting_inputs += inputs
        self._post(job)
        return job.future

    def call(self, function: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Run a function with exclusive use of the model; returns a future, and raises the same errors as `submit`."""
        self._admit(False)
        call = Call(function, self._loop.create_future())
        self._post(call)
        return call.future

    def _post(self, one: Job | Call) -> None:
        """Wake the thread once per iteration of the event loop; each wake-up makes both threads wait for the GIL."""
        if not self._posted:
            self._loop.call_soon(self._send)
        self._posted.append(one)

    def _send(self) -> None:
        posted, self._posted = self._posted, []
        self._arrivals.put(posted)

    def _admit(self, is_full: Any) -> None:
        if not self._is_open:
            raise ApiError("stopping", "the server is stopping")
        if is_full or self.waiting_requests >= self.settings.max_requests:
            raise queue_full(self.waiting_inputs * self._seconds_per_input)
        self.waiting_requests += 1

    def close(self) -> None:
        """Stop the thread after the queued requests."""
        if self._is_open:
            self._is_open = False
            self._send()
            self._arrivals.put(None)

    async def drained(self, seconds: float) -> bool:
        """Wait up to this many seconds for the thread to end, and return whether it has."""
        await asyncio.to_thread(self._thread.join, seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        is_open = True
        while is_open or self._jobs or self._calls:
            is_open = self._collect(wait=is_open and not self._jobs and not self._calls) and is_open
            if cancelled := [job for job in self._jobs if job.future is not None and job.future.cancelled()]:
                self._give_up(cancelled)
            self._tokenize()
            batch = next_batch(self._jobs, self.settings.batch_tokens, self._share())
            if batch:
                self._compute(batch)
            self._hand_over()
            if self._calls:
                call = self._calls.popleft()
                call.compute()
                self._finished.append(call)
                self._hand_over()

    def _collect(self, wait: bool) -> bool:
        """Move newly arrived requests into the queue; returns False once the queue is closed."""
        while wait or not self._arrivals.empty():
            found = self._arrivals.get()
            wait = False
            if found is None:
                return False
            for one in found:
                if isinstance(one, Call):
                    self._calls.append(one)
                    continue
                if len(one.inputs) <= SMALL:
                    self._last_small = time.perf_counter()
                self._jobs.append(one)
        return True

    def _give_up(self, jobs: list[Job]) -> None:
        self._jobs = deque(job for job in self._jobs if job not in jobs)
        self._finished += jobs

    def _tokenize(self) -> None:
        """Tokenize the next inputs of each job that has no tokenized inputs left; jobs are grouped by prompt."""
        by_prompt: dict[str, list[Job]] = {}
        for job in self._jobs:
            if job.taken == len(job.tokenized) < len(job.inputs):
                by_prompt.setdefault(job.prompt, []).append(job)
        for jobs in by_prompt.values():
            began = time.perf_counter()
            failed = self._tokenize_together(jobs)
            seconds = time.perf_counter() - began
            for job in jobs:
                job.tokenization += seconds
            if failed:
                self._give_up(failed)

    def _tokenize_together(self, jobs: Sequence[Job]) -> list[Job]:
        """Tokenize the next inputs of several jobs and return the jobs that failed; one bad input fails one job."""
        ahead = AHEAD_IN_COMPANY if self._is_in_company() else AHEAD
        parts = [job.next_inputs(ahead, AHEAD_CHARACTERS) for job in jobs]
        try:
            found = iter(self.work.tokenize([*chain.from_iterable(parts)], jobs[0].prompt, len(jobs[0].tokenized)))
        except Exception as error:  # the thread must survive any error
            if len(jobs) > 1:
                return [job for one in jobs for job in self._tokenize_together([one])]
            jobs[0].error = error
            return [*jobs]
        failed = []
        for job, part in zip(jobs, parts, strict=True):
            job.add_tokenized(islice(found, len(part)))
            if job.refuse_truncation and job.truncated:
                cut = job.truncated[0]
                job.error = too_long(f"input {cut['index']}", cut["tokens"], cut["used"])
                failed.append(job)
        return failed

    def _is_in_company(self) -> bool:
        """Whether small requests are arriving."""
        return time.perf_counter() - self._last_small < QUIET_SECONDS

    def _share(self) -> int:
        """Return how many tokens of a batch large requests may use.

        The number is small while small requests arrive, and 0 if a request has only one input left.
        """
        if not self._is_in_company():
            return self.settings.batch_tokens
        if 1 in [len(job.inputs) - job.taken for job in self._jobs]:
            return 0
        return max(LEAST_SHARE, int(self.settings.slice_seconds / self._seconds_per_token))

    def _compute(self, batch: Sequence[Slot]) -> None:
        contents = [content for _, _, content in batch]
        began = time.perf_counter()
        try:
            rows = self.work.compute(contents)
        except Exception as error:  # the thread must survive any error
            self._compute_apart(batch, error)
            return
        seconds, tokens = time.perf_counter() - began, sum(map(size_of, contents))
        self._seconds_per_token += SMOOTHING * (seconds / tokens - self._seconds_per_token)
        self._seconds_per_input += SMOOTHING * (seconds / len(batch) - self._seconds_per_input)
        self._observe(len(batch), tokens, seconds)
        jobs: dict[Job, None] = {}
        for (job, index, _), row in zip(batch, rows, strict=True):
            if job.rows is None:
                job.rows = np.empty((len(job.inputs), rows.shape[1]), np.float32)
            job.rows[index], job.tokenized[index] = row, COMPUTED
            job.done += 1
            jobs[job] = None
        for job in jobs:
            job.inference += seconds
            if job.done == len(job.inputs):
                self._finished.append(job)

    def _compute_apart(self, batch: Sequence[Slot], error: Exception) -> None:
        """After a failure, compute each job separately, so that only the jobs that cause it fail."""
        jobs = [*dict.fromkeys(job for job, _, _ in batch)]
        if len(jobs) > 1:
            for job in jobs:
                self._compute([slot for slot in batch if slot[0] is job])
            return
        jobs[0].error = error
        self._give_up(jobs)

    def _hand_over(self) -> None:
        """Deliver all results of a batch on the event loop with a single wake-up."""
        if self._finished:
            finished, self._finished = self._finished, []
            with suppress(RuntimeError):  # the event loop is closed, so no client is waiting
                self._loop.call_soon_threadsafe(self._settle, finished)

    def _settle(self, finished: Sequence[Job | Call]) -> None:
        for one in finished:
            self.waiting_requests -= 1
            if isinstance(one, Job):
                self.waiting_inputs -= len(one.inputs)
                one.queue = max(0.0, time.perf_counter() - one.arrived - one.tokenization - one.inference)
            settle(one)


def queue_full(seconds: float) -> ApiError:
    """Create the error for a full queue, with the estimated seconds until there is room."""
    return ApiError("overloaded", "too many requests are waiting; try again later", retry_after=seconds)
