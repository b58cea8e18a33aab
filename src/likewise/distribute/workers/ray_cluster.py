"""Encode the shards of a job in actors in a Ray cluster [extra: ray].

Every machine needs likewise and the model, and must be able to reach the sources and the output folder under the same
paths (a shared disk). Each actor takes the next shard when it is ready; if an actor or its machine is lost, another
actor takes over its shard, and a new actor starts as soon as the cluster has room.
"""

import os
import socket
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import BadInput, LikewiseError
from ...runtime.installation import missing_extra
from ...runtime.progress import Advance
from ...runtime.temporary_files import remove_abandoned
from ..encode import EncodeShards
from ..output_folder import SHARD_NAME
from ..shards import EncodeJob, ModelChoice, ShardRecord, encode_shard

try:
    import ray
    from ray.exceptions import RayActorError, RayError, RayTaskError
except ImportError:
    raise missing_extra("ray", "ray", "--ray") from None

MOST_DEATHS = 3
"""How many actors may die on one shard before the shard is considered the cause."""
PATIENCE = 60.0  # seconds to wait for room for the first actor
CONNECT_SECONDS = 5.0
LOOK = 1.0  # seconds between checks of the cluster's size
STARTING, LOADING = -2, -1  # what an actor does before its first shard


def in_ray(model: ModelChoice, address: str | None = None, actors: int | None = None, gpus: float = 0) -> EncodeShards:
    """Encode in actors of a Ray cluster.

    Args:
        address: the cluster's `HOST:PORT`, `ray://…` or `auto`; None starts a local cluster.
        actors: the maximum number of actors; by default, one for each processor, or each `gpus` GPUs, in the cluster.
        gpus: GPUs per actor; if 0, each actor gets one processor.
    """

    def encode_shards(job: EncodeJob, numbers: Sequence[int], advance: Advance) -> Iterator[ShardRecord]:
        with connected(address):
            pool = _ActorPool(job, model, deque(numbers), actors, gpus)
            try:
                yield from pool.records(advance)
            finally:
                pool.stop()

    return encode_shards


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to a cluster while the block runs; an existing connection of this process is reused and kept open."""
    if ray.is_initialized():
        yield
        return
    _check_answers(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=address is None)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError, RayError) as error:
        raise _no_cluster(address, error) from None
    try:
        yield
    finally:
        ray.shutdown()


def _check_answers(address: str | None) -> None:
    """Raise an error if nothing listens at HOST:PORT; Ray itself would retry for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, error) from None


def _no_cluster(address: str | None, error: Exception) -> BadInput:
    reason = str(error).partition("\n")[0]
    return BadInput(f"there is no Ray cluster at {address!r}: {reason}. Start one with: ray start --head")


@ray.remote(max_restarts=0, max_task_retries=0)
class _ShardActor:
    """A process on one of the cluster's machines that holds the model."""

    def __init__(self, job: EncodeJob, model: ModelChoice, working_folder: str) -> None:
        """Change to the working folder first, since the job's paths may be relative to where it was started."""
        self._job, self._model = job, model
        os.chdir(working_folder)

    def start(self) -> None:
        """Confirm that the actor has been scheduled."""

    def load(self) -> None:
        """Load the model; this is not done in the constructor, so that errors keep their type."""
        self._embedder = self._model.load(self._job.origin)

    def encode(self, number: int) -> ShardRecord:
        return encode_shard(self._job, number, self._embedder)


class _ActorPool:
    """The actors of a job, what each of them is doing, and the shards that are not yet assigned."""

    def __init__(
        self, job: EncodeJob, model: ModelChoice, waiting: "deque[int]", actors: int | None, gpus: float
    ) -> None:
        self._folder, self._model, self._waiting = job.folder, model, waiting
        self._most, self._gpus = actors, gpus
        self._job = ray.put(job)
        self._running: dict[Any, tuple[Any, int]] = {}
        """Keyed by result reference: the actor, and its shard or what it does before its first shard."""
        self._deaths = Counter[int]()

    def records(self, advance: Advance) -> Iterator[ShardRecord]:
        left, idle = len(self._waiting), 0.0
        while left:
            self._start_missing(left)
            finished, _ = ray.wait(list(self._running), num_returns=1, timeout=LOOK)
            no_room = all(number == STARTING for _, number in self._running.values())
            idle = idle + LOOK if not finished and no_room else 0.0
            if idle > PATIENCE:
                raise LikewiseError(f"the cluster has had no room for an actor for {PATIENCE:.0f} seconds: {_room()}")
            for reference in finished:
                record = self._result(reference)
                if record is not None:
                    left -= 1
                    advance(record.rows, 0)
                    yield record

    def stop(self) -> None:
        """Stop all actors, and remove unfinished files of those on this machine."""
        for actor, _ in self._running.values():
            ray.kill(actor)
        remove_abandoned(self._folder, SHARD_NAME.pattern)

    def _start_missing(self, left: int) -> None:
        wanted = min(left, self._most or _places(self._gpus))
        for _ in range(max(1, wanted) - len(self._running)):
            needs = {"num_gpus": self._gpus} if self._gpus else {"num_cpus": 1}
            actor = _ShardActor.options(**needs).remote(self._job, self._model, str(Path.cwd()))  # type: ignore[attr-defined]
            self._running[actor.start.remote()] = actor, STARTING

    def _result(self, reference: Any) -> ShardRecord | None:
        """The record of the shard that was finished, if any; the actor then continues with its next task."""
        actor, number = self._running.pop(reference)
        try:
            record: ShardRecord | None = ray.get(reference)
        except RayActorError as error:
            self._lost(number, error)
            return None
        except RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from None
        self._deaths.pop(number, None)
        if number == STARTING:
            self._running[actor.load.remote()] = actor, LOADING
        elif self._waiting:
            shard = self._waiting.popleft()
            self._running[actor.encode.remote(shard)] = actor, shard
        return record

    def _lost(self, number: int, error: Exception) -> None:
        self._deaths[number] += 1
        if self._deaths[number] >= MOST_DEATHS:
            at = f"at shard {number}" if number >= 0 else "before their first shard"
            reason = str(error).partition("\n")[0]
            raise LikewiseError(f"{MOST_DEATHS} actors ended {at}; finished shards are kept. The last one: {reason}")
        if number >= 0:
            self._waiting.appendleft(number)


def _places(gpus: float) -> int:
    """How many actors the cluster has room for if nothing else is running there."""
    resources = ray.cluster_resources()
    return int(resources.get("GPU", 0) / gpus) if gpus else int(resources.get("CPU", 0))


def _room() -> str:
    resources = ray.available_resources()
    return f"{resources.get('CPU', 0):g} processors and {resources.get('GPU', 0):g} GPUs are free"
