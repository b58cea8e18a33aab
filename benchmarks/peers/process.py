"""A contender's process: its specification, its requests and responses, progress and failures."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 600.0
"""Maximum duration of one request in seconds."""
Job = TypeVar("Job")


@dataclass(frozen=True)
class Spec:
    """A contender with a number of threads, as plain values for a command line."""

    name: str
    backend: str
    """A module of benchmarks/peers/backends."""
    precision: str
    model: str
    folder: str
    """The model's folder; nothing is downloaded."""
    exports: str
    """The folder with the model in other libraries' formats."""
    threads: int = 1
    cpus: tuple[int, ...] = ()
    """The processors that the process may run on; empty: all."""
    options: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """Encode as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Spec":
        """Decode the output of `text`."""
        values = json.loads(text)
        return cls(**{**values, "cpus": tuple(values["cpus"])})


BEGAN = time.monotonic()


def say(text: str) -> None:
    """Print a step, with the minutes and seconds since the start."""
    passed = int(time.monotonic() - BEGAN)
    print(f"[{passed // 60}:{passed % 60:02d}] {text}", file=sys.stderr, flush=True)


class ContenderFailed(Exception):
    """A contender raised an error, crashed or timed out; the message says which."""


def environment(threads: int) -> dict[str, str]:
    """Return environment variables that set every library's number of threads and disable access to the hub."""
    names = ("OMP", "OPENBLAS", "MKL", "RAYON")
    counts = {f"{name}_NUM_THREADS": str(threads) for name in names}
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    offline = dict.fromkeys(("HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "TRANSFORMERS_OFFLINE"), "1")
    return {**os.environ, **counts, **offline, "PYTHONPATH": paths, "TOKENIZERS_PARALLELISM": "true"}


def processors(threads: int) -> tuple[int, ...]:
    """Choose one processor per thread, on different cores, with the highest numbers; empty if unknown."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    cores: dict[str, int] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.setdefault(siblings.read_text() if siblings.exists() else str(cpu), cpu)
    return tuple(sorted(cores.values())[-threads:])


def command(python: str, spec: Spec, *more: str) -> list[str]:
    """The command line of a contender's process."""
    return [python, "-m", "benchmarks.peers.worker", spec.text(), *more]


class Process:
    """A running contender. If its process dies or takes too long, `ask` ends it and raises ContenderFailed."""

    def __init__(self, python: str, spec: Spec, log: Path) -> None:
        self.spec, self.log = spec, log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                command(python, spec),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(spec.threads),
                cwd=ROOT,
            )

    def ask(self, do: str, patience: float = PATIENCE, **more: Any) -> dict[str, Any]:
        """Send a request and return the response."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **more}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise ContenderFailed(self._death()) from None
        if not select.select([self.process.stdout], [], [], patience)[0]:
            self.stop()
            raise ContenderFailed(f"{do!r} took more than {patience:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise ContenderFailed(self._death())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ContenderFailed(answer["error"])
        return answer

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # a dead process may have left data unread
                assert pipe is not None
                pipe.close()

    def _death(self) -> str:
        return f"the process ended with {self.process.wait()}: {last_line(self.log.read_text(errors='replace'))}"


def last_line(text: str) -> str:
    """Return the last line that is not blank."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message")


def cold_start(python: str, spec: Spec, log: Path) -> dict[str, float]:
    """Time a new process that loads the model, encodes one text and ends."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as errors:
        began = time.perf_counter()
        started = subprocess.Popen(
            command(python, spec, "--cold"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environment(spec.threads),
            cwd=ROOT,
        )
        _, status, used = os.wait4(started.pid, 0)
        wall = time.perf_counter() - began
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise ContenderFailed(f"ended with {started.returncode}: {last_line(log.read_text(errors='replace'))}")
    return {"wall_s": wall, "cpu_s": used.ru_utime + used.ru_stime}


def in_lanes(jobs: Sequence[Job], work: Callable[[Job, tuple[int, ...]], None]) -> None:
    """Run two jobs at a time; `work` gets the processor to use, or none if processors are unknown."""
    cpus = processors(2)

    def lane(number: int) -> None:
        for job in jobs[number::2]:
            work(job, cpus[number : number + 1])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lane, range(2)))


def rotated(names: list[str], by: int) -> list[str]:
    """Rotate the names by this many positions."""
    by %= max(1, len(names))
    return names[by:] + names[:by]


def slug(name: str) -> str:
    """Convert a name for use in a file name."""
    return "".join(c if c.isalnum() else "-" for c in name).lower()


@contextmanager
def noting_failure(record: dict[str, Any], name: str, where: str) -> Iterator[None]:
    """Record the error of a contender that fails, so that the others continue."""
    try:
        yield
    except ContenderFailed as error:
        if "error" not in record:  # the first error is kept
            record.update(error=str(error), failed=where)
        say(f"{name} failed {where}: {str(error)[:300]}")


def available_mb() -> float:
    """Return the free memory in MB; infinity if unknown."""
    info = Path("/proc/meminfo")
    if not info.exists():
        return float("inf")
    line = next(line for line in info.read_text().splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) * 1024 / 1e6
