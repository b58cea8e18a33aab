"""Ctrl-C, and SIGTERM of a scheduler, as a wish: the step in hand is finished and a checkpoint written."""

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
    """Gives what says whether someone asked; a second signal ends the process at once, as it always did.

    What was understood is told on stderr, unless `quiet`.
    In another thread than the main one nothing can be asked for, and nothing is.
    """
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before: dict[int, Any] = {number: signal.getsignal(number) for number in SIGNALS}

    def noted(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        asked.append(number)
        signal.signal(number, before[number])
        if quiet:
            return
        print("\nlikewise: stopping after this step, with a checkpoint; once more stops at once", file=sys.stderr)

    for number in SIGNALS:
        signal.signal(number, noted)
    try:
        yield lambda: bool(asked)
    finally:
        for number in SIGNALS:
            signal.signal(number, before[number])
