"""The other end of the pipe: starts a contender's process, asks it, and notices when it dies or takes too long."""

import json
import os
import select
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .spec import Spec

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 600.0
"""Seconds that one request may take."""


class ContenderFailed(Exception):
    """A contender raised, died or took too long; the message says which."""


def environment(threads: int) -> dict[str, str]:
    """As many threads for every library that asks the environment, and no hub."""
    names = ("OMP", "OPENBLAS", "MKL", "RAYON")
    counts = {f"{name}_NUM_THREADS": str(threads) for name in names}
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    offline = dict.fromkeys(("HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "TRANSFORMERS_OFFLINE"), "1")
    return {**os.environ, **counts, **offline, "PYTHONPATH": paths, "TOKENIZERS_PARALLELISM": "true"}


def processors(threads: int) -> tuple[int, ...]:
    """As many processors of different cores as threads, those with the highest numbers; empty where unknown."""
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
    """A running contender. `ask` raises ContenderFailed; a process that died or took too long has then been ended."""

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
        """The answer to a request."""
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
        """Ends the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # what a dead process had not read
                assert pipe is not None
                pipe.close()

    def _death(self) -> str:
        code = self.process.wait()
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return f"the process ended with {code}" + (f": {lines[-1].strip()}" if lines else "")


@dataclass(frozen=True)
class Start:
    """Seconds of a whole process from nothing to its first vector."""

    wall_s: float
    cpu_s: float


def cold_start(python: str, spec: Spec, log: Path) -> Start:
    """A new process that loads, encodes one text and ends."""
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
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        raise ContenderFailed(f"ended with {started.returncode}" + (f": {lines[-1].strip()}" if lines else ""))
    return Start(wall, used.ru_utime + used.ru_stime)
