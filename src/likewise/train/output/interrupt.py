"""Ctrl-C, and SIGTERM of a scheduler, as a request: the current step is finished and a checkpoint written."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_requested(quiet: bool = False) -> Iterator[Callable[[], bool]]:
    """Yields a function that returns whether to stop; a second signal ends the process at once, as usual.

    A note is printed to stderr, unless `quiet`. Outside the main thread signals cannot be handled, and it never stops.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before: dict[int, Any] = {number: signal.getsignal(number) for number in SIGNALS}

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        received.append(number)
        signal.signal(number, before[number])
        if quiet:
            return
        print("\nlikewise: stopping after this step, with a checkpoint; a second signal stops at once", file=sys.stderr)

    for number in SIGNALS:
        signal.signal(number, handle)
    try:
        yield lambda: bool(received)
    finally:
        for number in SIGNALS:
            signal.signal(number, before[number])
