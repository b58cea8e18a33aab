"""Several worker processes that serve the same socket; a worker that dies is replaced while the others keep serving."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LOOK_SECONDS = 0.05
"""Seconds between the parent's checks for dead workers."""
TOO_SOON = 3.0
"""Minimum lifetime of a worker in seconds; if it dies sooner, the cause will probably recur."""
MOST_FAILURES = 5
"""Number of consecutive workers that must die too soon before the parent gives up."""
ORPHAN_SECONDS = 1.0
"""Seconds between a worker's checks that its parent is alive."""
KILL_SECONDS = 1.75
"""Seconds after the drain time until workers that are still running are killed."""


class Supervisor:
    """The parent process of the workers, each of which runs `serve`.

    Workers are forked before any model is loaded or any thread is started. At the end, the parent calls
    `stop_listening`, and then stops the workers, which have `seconds` to finish their requests.
    """

    def __init__(
        self, count: int, serve: Callable[[], None], stop_listening: Callable[[], None], seconds: float
    ) -> None:
        self._count, self._serve, self._stop_listening, self._seconds = count, serve, stop_listening, seconds
        self._began: dict[int, float] = {}
        self._signals: list[int] = []
        self._failures = 0

    def run(self) -> int:
        """Keep `count` workers running until SIGTERM or SIGINT, and forward SIGHUP to them. Returns the exit code."""
        with self._caught_signals():
            try:
                while not self._is_over():
                    while len(self._began) < self._count:
                        self._start()
                    self._bury()
                    while signal.SIGHUP in self._signals:
                        self._signals.remove(signal.SIGHUP)
                        self._send(signal.SIGHUP)
                    time.sleep(LOOK_SECONDS)
            finally:
                self._end()
        return 1 if self._failures >= MOST_FAILURES else 0

    def _is_over(self) -> bool:
        return self._failures >= MOST_FAILURES or bool({signal.SIGTERM, signal.SIGINT} & {*self._signals})

    def _start(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        child = os.fork()
        if child:
            self._began[child] = time.monotonic()
            return
        code = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nothing is loaded yet that could be reloaded
            threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
            self._serve()
            code = 0
        except Exception as error:
            print(f"likewise: {error}", file=sys.stderr)
        finally:
            os._exit(code)

    def _bury(self) -> bool:
        """Reap a dead worker; returns False if no worker has died."""
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return False
        lived = time.monotonic() - self._began.pop(child, 0.0)
        self._failures = self._failures + 1 if lived < TOO_SOON and status else 0
        if not self._is_over():
            code = os.waitstatus_to_exitcode(status)  # negative: the signal that killed it
            cause = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
            print(f"likewise: worker {child} has died ({cause}); starting another one", file=sys.stderr)
        return True

    def _send(self, number: int) -> None:
        for child in [*self._began]:
            os.kill(child, number)

    def _end(self) -> None:
        self._stop_listening()
        self._send(signal.SIGTERM)
        last = time.monotonic() + self._seconds + KILL_SECONDS
        while self._began and time.monotonic() < last:
            if not self._bury():
                time.sleep(LOOK_SECONDS)
        self._send(signal.SIGKILL)

    @contextmanager
    def _caught_signals(self) -> Iterator[None]:
        """Record signals instead of being terminated by them."""
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before: dict[int, Any] = {n: signal.signal(n, lambda number, _: self._signals.append(number)) for n in numbers}
        # if SIGCHLD were ignored, the system would reap dead workers itself, and `waitpid` would fail
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _end_with(parent: int) -> None:
    """Stop this worker when its parent has been killed; otherwise it would keep the port."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
