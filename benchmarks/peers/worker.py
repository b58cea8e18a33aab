"""A contender's process: reads each request as a line of JSON, does the work, and writes the response as another line.

python -m benchmarks.peers.worker SPEC          serves until its input ends
python -m benchmarks.peers.worker SPEC --cold   computes only the first vector of a new process
"""

import json
import os
import sys
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

from .process import Spec

FIRST_TEXT = "A first text."
WAKE = 8
"""Number of texts encoded before the clock starts, because other contenders have used the processor's caches."""


def main() -> None:
    spec = Spec.read(sys.argv[1])
    if spec.cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, spec.cpus)
    answers = own_output()
    if "--cold" in sys.argv:
        vectors = load(spec).encode([FIRST_TEXT])
        assert len(vectors) == 1, f"expected 1 vector for 1 text; got {len(vectors)}"
        return
    serve(spec, answers)


def own_output() -> TextIO:
    """Reserve standard output for responses; what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def load(spec: Spec) -> Any:
    """Load the contender, an object with `encode(texts)` and `packages`."""
    return import_module(f"{__package__}.backends.{spec.backend}").load(spec)


def serve(spec: Spec, answers: TextIO) -> None:
    """Answer each request, with an error if it fails."""
    worker = Worker(spec)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # any error of a library counts as its contender's result
            answer = {"error": f"{type(error).__name__}: {str(error).strip() or 'no message'}"}
        print(json.dumps(answer), file=answers, flush=True)


class Worker:
    """The requests; each method takes and returns plain values."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.corpora = spec, {}

    def load(self, texts: str) -> dict[str, Any]:
        """Load the model, and read the texts of all corpora from a file."""
        self.corpora = json.loads(Path(texts).read_text("utf-8"))
        began = time.perf_counter()
        self.contender = load(self.spec)
        versions = {name: version(name) for name in self.contender.packages}
        return {"seconds": time.perf_counter() - began, "resident_mb": memory_mb("VmRSS"), "versions": versions}

    def prepare(self, corpus: str, count: int) -> dict[str, Any]:
        """Let the contender choose its batch size on some texts if it supports this, or else only warm up."""
        texts = self.corpora[corpus][:count]
        if hasattr(self.contender, "tune"):
            return {"chosen": self.contender.tune(texts)}
        self.contender.encode(texts)
        return {"chosen": {}}

    def encode(self, corpus: str, count: int | None = None) -> dict[str, Any]:
        """Encode a corpus or its first texts; returns the wall and CPU seconds."""
        texts = self.corpora[corpus][:count]
        self.contender.encode(texts[:WAKE])
        cpu, began = time.process_time(), time.perf_counter()
        self.contender.encode(texts)
        return {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}

    def queries(self, corpus: str, count: int) -> dict[str, Any]:
        """Encode `count` texts one by one; returns the seconds for each."""
        texts, seconds = self.corpora[corpus], []
        for text in texts[:WAKE]:
            self.contender.encode([text])
        for i in range(count):
            began = time.perf_counter()
            self.contender.encode([texts[i % len(texts)]])
            seconds.append(time.perf_counter() - began)
        return {"seconds": seconds}

    def vectors(self, corpus: str, to: str) -> dict[str, Any]:
        """Write the vectors of a corpus to a .npy file."""
        import numpy as np

        vectors = np.asarray(self.contender.encode(self.corpora[corpus]), np.float32)
        np.save(to, vectors)
        return {"shape": list(vectors.shape)}

    def bind(self, cpus: list[int]) -> dict[str, Any]:
        """Move the process and the threads that libraries have started to these processors, if any."""
        tasks = Path("/proc/self/task")
        for task in tasks.iterdir() if cpus and tasks.exists() else ():
            os.sched_setaffinity(int(task.name), cpus)
        return {}

    def memory(self) -> dict[str, Any]:
        """Return the peak memory of this process in MB."""
        return {"peak_mb": memory_mb("VmHWM")}


def memory_mb(field: str) -> float | None:
    """Return a value from /proc/self/status in MB; None if the file does not exist."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    main()
