"""Deadlines: requests that take too long are cancelled; one timer looks at all of them a few times a second."""

import asyncio
import time
from typing import Any

LOOK_SECONDS = 0.1
ANSWER_SECONDS = 0.5
"""Extra time for an answer that has begun, so that one that began just before the deadline is not cut."""


class Deadlines:
    """The requests that are being answered, by their tasks; for the event loop."""

    def __init__(self) -> None:
        self._running: dict[asyncio.Task[Any], Any] = {}
        self._is_looking = False

    def begin(self, exchange: Any) -> "asyncio.Task[Any]":
        """Watch the current task, which answers a request; it is cancelled, and the request marked, at its end."""
        task = asyncio.current_task()
        assert task is not None
        self._running[task] = exchange
        if not self._is_looking:
            self._is_looking = True
            asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)
        return task

    def end(self, task: "asyncio.Task[Any]") -> None:
        """The request is answered."""
        del self._running[task]

    def _look(self) -> None:
        now = time.perf_counter()
        for task, exchange in self._running.items():
            if now > exchange.ends + ANSWER_SECONDS * exchange.has_begun and not exchange.is_late:
                exchange.is_late = True
                task.cancel()
        self._is_looking = bool(self._running)
        if self._is_looking:
            asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)
