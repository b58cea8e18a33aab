"""Helpers for kill tests: run work in a process that SIGKILL ends at some moment, and count the states it leaves."""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable

from .attack.kills import finished, forked

KILLED = -signal.SIGKILL
Report = Callable[[str], object]


def lived(work: Callable[[Report], object], seconds: float | None = None) -> tuple[int, list[str]]:
    """Run the work in a new process, killed after `seconds` if given; returns its exit code and its reports.

    The process is forked from this one, which has already imported everything, so that starting it takes milliseconds.
    """
    reading, writing = os.pipe()
    child = forked(lambda: work(lambda line: os.write(writing, f"{line}\n".encode())))
    os.close(writing)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)  # a process that has ended still exists until it has been waited for
    with os.fdopen(reading) as pipe:
        lines = pipe.read().splitlines()
    code = finished(child)
    if code not in (0, KILLED):
        raise SystemExit(f"a process ended with exit code {code} before it was killed; its error is above")
    return code, lines


def use_segments_of(rows: int) -> None:
    """Set the segment size of collections in every module that uses it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("likewise.search.collection") and hasattr(module, "SEGMENT_ROWS"):
            module.SEGMENT_ROWS = rows


def summary(counts: Counter[str]) -> int:
    """Print the counts, and return the exit status: 1 unless all counts with names in capitals are 0."""
    for name, count in sorted(counts.items()):
        print(f"  {count:6,} {name}")
    return int(any(count for name, count in counts.items() if name.isupper()))
