"""ModelThread: the one thread that computes a model, fed by a bounded queue; the event loop only puts in and takes out.

The thread never waits for a batch to fill: it computes what there is. While it does, further requests arrive, and these
are the next batch; so batches grow with the load, and a single request is computed at once.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...errors import LikewiseError
from ..serve_settings import ServeSettings
from .fair_queue import FairQueue, Slot
from .job import Call, Job
from .model_work import ModelWork, too_long

AHEAD, AHEAD_IN_COMPANY = 128, 8
"""Inputs of one request that are tokenized at a time: alone, and while small requests come in."""
AHEAD_CHARACTERS = 100_000
"""Characters of one request that are tokenized at a time, and what is left of a text: about 50 ms."""
SMALL = 8
"""Requests of this many inputs or fewer are waited for by somebody who would notice."""
QUIET_SECONDS = 1.0
"""How long after the last small request large ones are given whole batches again."""
SMOOTHING = 0.1
"""The weight of a batch in the running means of its speed."""
LEAST_SHARE = 16
"""Tokens of a batch that large requests may always fill."""


class QueueFull(Exception):
    """No room in the queue; `retry_after` is about how many seconds there will be none."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("too many requests are waiting")
        self.retry_after = retry_after


class DeadlinePassed(Exception):
    """A request waited for longer than it may."""


class ServerStopping(Exception):
    """The queue takes nothing in any more."""


@runtime_checkable
class BatchObserver(Protocol):
    """Who counts batches: their inputs, tokens and seconds."""

    def observe_batch(self, inputs: int, tokens: int, seconds: float) -> None:
        """Note one batch; called on the model's thread."""
        ...


class ModelThread:
    """A model's queue and thread. `submit`, `call` and `close` are for the event loop."""

    def __init__(self, name: str, work: ModelWork, settings: ServeSettings, observer: BatchObserver) -> None:
        self.name, self.work, self.settings = name, work, settings
        self.waiting_requests = self.waiting_inputs = 0
        self._observer = observer
        self._arrivals: SimpleQueue[Job | Call | None] = SimpleQueue()
        self._jobs, self._calls = FairQueue(), deque[Call]()
        self._finished: list[Job | Call] = []
        self._seconds_per_token, self._seconds_per_input = 1e-5, 1e-4
        self._last_small = float("-inf")
        self._is_open = True
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name=f"model {name}", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> "asyncio.Future[Job]":
        """Put a request into the queue; its future has the job when it is computed.

        Raises:
            QueueFull: too much is waiting.
        """
        self._check_open()
        s, inputs = self.settings, len(job.inputs)
        if self.waiting_requests >= s.max_requests or (
            self.waiting_inputs and self.waiting_inputs + inputs > s.max_waiting_texts
        ):
            raise QueueFull(self.seconds_of_waiting)
        job.future = self._loop.create_future()
        self.waiting_requests += 1
        self.waiting_inputs += inputs
        self._arrivals.put(job)
        return job.future

    def call(self, function: Callable[[], Any]) -> "asyncio.Future[Any]":
        """The result of a function that has the model to itself.

        Raises:
            QueueFull: too much is waiting.
        """
        self._check_open()
        if self.waiting_requests >= self.settings.max_requests:
            raise QueueFull(self.seconds_of_waiting)
        call = Call(function, self._loop.create_future())
        self.waiting_requests += 1
        self._arrivals.put(call)
        return call.future

    @property
    def seconds_of_waiting(self) -> float:
        """About how long what waits will take."""
        return self.waiting_inputs * self._seconds_per_input

    def _check_open(self) -> None:
        if not self._is_open:
            raise ServerStopping(f"the queue of {self.name} is closed")

    def close(self) -> None:
        """Finish what is in the queue, and end."""
        if self._is_open:
            self._is_open = False
            self._arrivals.put(None)

    async def drained(self, seconds: float) -> bool:
        """Wait until the thread has ended; False if it has not after that many seconds."""
        await asyncio.to_thread(self._thread.join, seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        is_open = True
        while is_open or self._jobs or self._calls:
            is_open = self._collect(wait=is_open and not self._jobs and not self._calls) and is_open
            self._drop_given_up()
            self._tokenize()
            batch = self._jobs.next_batch(self.settings.batch_tokens, self._share())
            if batch:
                self._compute(batch)
            self._hand_over()
            if self._calls:
                call = self._calls.popleft()
                call.compute()
                self._finished.append(call)
                self._hand_over()

    def _collect(self, wait: bool) -> bool:
        """Take in what has arrived; False when the queue was closed."""
        while wait or not self._arrivals.empty():
            found = self._arrivals.get()
            wait = False
            if found is None:
                return False
            if isinstance(found, Call):
                self._calls.append(found)
                continue
            if len(found.inputs) <= SMALL:
                self._last_small = time.perf_counter()
            self._jobs.add(found)
        return True

    def _drop_given_up(self) -> None:
        """Forget requests that nobody waits for, and those past their deadline."""
        now = time.perf_counter()
        gone = [job for job in self._jobs if now > job.deadline or (job.future is not None and job.future.cancelled())]
        for job in gone:
            job.error = DeadlinePassed(f"the request waited for {now - job.timings.arrived:.1f} seconds")
        self._give_up(gone)

    def _give_up(self, jobs: list[Job]) -> None:
        if jobs:
            self._jobs.remove(jobs)
            self._finished += jobs

    def _tokenize(self) -> None:
        """The next inputs of every job that has none ready, those of one prompt at once."""
        by_prompt: dict[str, list[Job]] = {}
        for job in self._jobs:
            if not job.is_ready and job.untokenized:
                by_prompt.setdefault(job.prompt, []).append(job)
        for jobs in by_prompt.values():
            began = time.perf_counter()
            failed = self._tokenize_together(jobs)
            seconds = time.perf_counter() - began
            for job in jobs:
                job.timings.tokenization += seconds
            self._give_up(failed)

    def _tokenize_together(self, jobs: Sequence[Job]) -> list[Job]:
        """The next inputs of some jobs; what cannot be read fails its own job only. Returns those that failed."""
        ahead = AHEAD_IN_COMPANY if self._is_in_company() else AHEAD
        parts = [job.next_inputs(ahead, AHEAD_CHARACTERS) for job in jobs]
        first = len(jobs[0].tokenized) if len(jobs) == 1 else 0
        try:
            found = self.work.tokenize([text for part in parts for text in part], jobs[0].prompt, first)
        except LikewiseError as error:
            if len(jobs) > 1:
                return [job for one in jobs for job in self._tokenize_together([one])]
            jobs[0].error = error
            return [*jobs]
        failed, start = [], 0
        for job, part in zip(jobs, parts, strict=True):
            job.add_tokenized(found[start : start + len(part)])
            start += len(part)
            if job.refuse_truncation and job.truncated:
                job.error = too_long(*job.truncated[0])
                failed.append(job)
        return failed

    def _is_in_company(self) -> bool:
        """Whether small requests come in."""
        return time.perf_counter() - self._last_small < QUIET_SECONDS

    def _share(self) -> int:
        """Tokens of a batch that requests of many inputs may fill.

        Little while small requests come in, and nothing where a request can be answered with this batch.
        """
        if not self._is_in_company():
            return self.settings.batch_tokens
        if any(len(job.inputs) - job.taken == 1 for job in self._jobs):
            return 0
        return max(LEAST_SHARE, int(self.settings.slice_seconds / self._seconds_per_token))

    def _compute(self, batch: Sequence[Slot]) -> None:
        began = time.perf_counter()
        try:
            rows = self.work.compute([slot.content for slot in batch])
        except Exception as error:  # whatever it is, the thread goes on
            self._compute_apart(batch, error)
            return
        seconds, tokens = time.perf_counter() - began, sum(slot.content.size for slot in batch)
        self._seconds_per_token += SMOOTHING * (seconds / tokens - self._seconds_per_token)
        self._seconds_per_input += SMOOTHING * (seconds / len(batch) - self._seconds_per_input)
        self._observer.observe_batch(len(batch), tokens, seconds)
        for (job, index, _), row in zip(batch, rows, strict=True):
            if job.rows is None:
                job.rows = np.empty((len(job.inputs), rows.shape[1]), np.float32)
            job.rows[index] = row
            job.forget(index)
        for job in {id(slot.job): slot.job for slot in batch}.values():
            job.timings.inference += seconds
            if job.done == len(job.inputs):
                self._finished.append(job)

    def _compute_apart(self, batch: Sequence[Slot], error: Exception) -> None:
        """After a failure: each job by itself, so that only those fail whose own texts do."""
        jobs = list({id(slot.job): slot.job for slot in batch}.values())
        if len(jobs) > 1:
            for job in jobs:
                self._compute([slot for slot in batch if slot.job is job])
            return
        jobs[0].error = error
        self._give_up(jobs)

    def _hand_over(self) -> None:
        """Settle on the event loop what is finished: one wake-up for all of a batch."""
        if not self._finished:
            return
        finished, self._finished = self._finished, []
        try:
            self._loop.call_soon_threadsafe(self._settle, finished)
        except RuntimeError:  # the loop has ended, and nobody waits
            return

    def _settle(self, finished: Sequence[Job | Call]) -> None:
        for one in finished:
            self.waiting_requests -= 1
            if isinstance(one, Job):
                self.waiting_inputs -= len(one.inputs)
            one.settle()
