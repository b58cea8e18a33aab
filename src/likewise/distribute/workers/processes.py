"""Encode a job's shards in several processes; an idle process takes the next shard, or one left by a dead process."""

import json
import os
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ... import errors
from ...errors import LikewiseError
from ...runtime.arguments import whole_number
from ...runtime.progress import Advance
from ...runtime.temporary_files import remove_abandoned
from ..encode import EncodeShards
from ..output_folder import SHARD_NAME
from ..shards import EncodeJob, ModelChoice, ShardRecord

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MOST_DEATHS = 3
"""How many workers may die on one shard before the shard is considered the cause."""
PATIENCE = 10.0  # seconds to wait for a worker to exit


def in_workers(model: ModelChoice, workers: int, threads: int, cache: Path | None = None) -> EncodeShards:
    """Encode in `workers` processes, which share `threads` threads and, if given, the `cache` folder.

    If a process dies, it is replaced, and another process encodes its shard.
    """
    whole_number("workers", workers)
    threads_each = max(1, threads // workers)

    def encode_shards(job: EncodeJob, numbers: Sequence[int], advance: Advance) -> Iterator[ShardRecord]:
        pool = _Pool(replace(job, cache=cache), model, threads_each, deque(numbers))
        try:
            yield from pool.records(min(workers, len(numbers)), advance)
        finally:
            pool.stop()

    return encode_shards


class _Worker:
    """A process, its current shard, and the progress it has reported."""

    def __init__(self, job: EncodeJob, model: ModelChoice, threads: int, replies: "SimpleQueue[_Reply]") -> None:
        source = str(Path(__file__).parents[3])
        paths = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "likewise.distribute.workers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "PYTHONPATH": paths},
            encoding="utf-8",
        )
        self.shard: int | None = None
        order = {"folder": str(job.folder), "model": {"name": model.name, "options": dict(model.options)}}
        self._send({**order, "cache": None if job.cache is None else str(job.cache)})
        self._reader = threading.Thread(target=self._read, args=(replies,), daemon=True)
        self._reader.start()

    def encode(self, shard: int) -> None:
        self.shard, self.texts, self.tokens = shard, 0.0, 0
        self._send(shard)

    def count(self, texts: float, tokens: int) -> None:
        self.texts, self.tokens = self.texts + texts, self.tokens + tokens

    def stop(self) -> None:
        """Stop the process by closing its input."""
        with suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]  # a pipe
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()

    def _send(self, content: object) -> None:
        with suppress(OSError):  # the process is dead, as its reader will notice
            print(json.dumps(content), file=self.process.stdin, flush=True)

    def _read(self, replies: "SimpleQueue[_Reply]") -> None:
        with self.process.stdout as lines:  # type: ignore[union-attr]  # a pipe
            for line in lines:
                with suppress(ValueError):  # the worker died while writing the line
                    replies.put((self, json.loads(line)))
        replies.put((self, None))


_Reply = tuple[_Worker, dict[str, Any] | None]
"""A worker and its reply; None if the worker has exited."""


class _Pool:
    """The workers of a job, and the shards that are not yet assigned."""

    def __init__(self, job: EncodeJob, model: ModelChoice, threads: int, waiting: "deque[int]") -> None:
        self._job, self._model, self._threads, self._waiting = job, model, threads, waiting
        self._replies: SimpleQueue[_Reply] = SimpleQueue()
        self._workers = list[_Worker]()
        self._deaths = Counter[int | None]()

    def records(self, workers: int, advance: Advance) -> Iterator[ShardRecord]:
        left = len(self._waiting)
        while left:
            while len(self._workers) < workers:
                self._workers.append(_Worker(self._job, self._model, self._threads, self._replies))
            worker, reply = self._replies.get()
            if reply is None:
                self._remove(worker, advance)
            elif "progress" in reply:
                worker.count(*reply["progress"])
                advance(*reply["progress"])
            elif "error" in reply:
                raise _error(**reply["error"])
            else:
                if "record" in reply:
                    left -= 1
                    record = ShardRecord(**{**reply["record"], "notes": tuple(reply["record"]["notes"])})
                    advance(record.rows - worker.texts, 0)
                    worker.shard = None
                    yield record
                if self._waiting:
                    worker.encode(self._waiting.popleft())

    def stop(self) -> None:
        """Stop all workers, and remove their unfinished files."""
        for worker in self._workers:
            with suppress(OSError):
                worker.process.stdin.close()  # type: ignore[union-attr]  # a pipe
        for worker in self._workers:
            worker.stop()
        remove_abandoned(self._job.folder, SHARD_NAME.pattern)

    def _remove(self, worker: _Worker, advance: Advance) -> None:
        worker.stop()
        self._workers.remove(worker)
        self._deaths[worker.shard] += 1
        if self._deaths[worker.shard] >= MOST_DEATHS:
            at = "before their first shard" if worker.shard is None else f"at shard {worker.shard}"
            code = worker.process.returncode
            why = f"signal {-code} (9 may mean that memory ran out)" if code < 0 else f"exit code {code}"
            raise LikewiseError(f"{MOST_DEATHS} workers ended {at}, the last with {why}; finished shards are kept")
        if worker.shard is not None:
            advance(-worker.texts, -worker.tokens)
            self._waiting.appendleft(worker.shard)


def _error(kind: str, message: str) -> Exception:
    """A worker's error, in its original class if that class accepts a single message."""
    found = getattr(errors, kind, None)
    return found(message) if found not in (None, errors.BelowBar) else RuntimeError(message)
