"""FairQueue: whose texts make up the next batch: one of every request in turn, so that no request stalls another."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from .job import Job, TokenizedInput


class Slot(NamedTuple):
    """A place in a batch: which input of which job."""

    job: Job
    position: int
    content: TokenizedInput


class FairQueue:
    """Jobs that have inputs left, in the order of their turns."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs)

    def add(self, job: Job) -> None:
        """Put a job at the end."""
        self._jobs.append(job)

    def remove(self, gone: list[Job]) -> None:
        """Take jobs out, whatever they have left."""
        self._jobs = deque(job for job in self._jobs if job not in gone)

    def next_batch(self, budget: int, share: int) -> list[Slot]:
        """The inputs that are computed next.

        Every job gives one input in its turn, while they are `budget` tokens at most; a job with more inputs gives
        another in each further round, while the whole batch is `share` tokens at most. The first input is taken
        whatever its size. Where a batch ends, the next one begins.
        """
        batch: list[Slot] = []
        aside: list[Job] = []  # with inputs left that are not tokenized yet
        tokens, first_round = 0, len(self._jobs)
        while self._jobs:
            job = self._jobs[0]
            content = job.tokenized[job.taken] if job.is_ready else None
            if content is not None:
                if batch and tokens + content.size > (budget if first_round > 0 else share):
                    break
                batch.append(Slot(job, job.taken, content))
                tokens += content.size
                job.taken += 1
            self._jobs.popleft()
            first_round -= 1
            if job.is_ready:
                self._jobs.append(job)
            elif job.untokenized:
                aside.append(job)
        self._jobs.extend(aside)
        return batch
