"""CollectionThread: the thread that reads one collection, so that nothing slow in it holds up another collection."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeVar

from ..runtime.cancellation import cancellable
from .batching.job import Call
from .batching.model_thread import QueueFull

Result = TypeVar("Result")


class CollectionThread:
    """Computes one function after another; what nobody waits for any more is stopped. For the event loop.

    The thread is a daemon: it never keeps a process that should end.
    """

    def __init__(self, name: str, max_requests: int) -> None:
        self._max_requests, self._waiting = max_requests, 0
        self._calls: SimpleQueue[Call | Callable[[], None]] = SimpleQueue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=_run, args=(self._calls, loop), name=f"collection {name}", daemon=True).start()

    async def compute(self, function: Callable[[], Result]) -> Result:
        """The result of a function; cancelled, it stops the function where that asks for it (`check_cancelled`).

        Raises:
            QueueFull: too many are waiting.
        """
        if self._waiting >= self._max_requests:
            raise QueueFull(1.0)
        call = Call(function, asyncio.get_running_loop().create_future())
        self._waiting += 1
        self._calls.put(call)
        try:
            result: Result = await call.future
            return result
        finally:
            self._waiting -= 1

    def end(self, last: Callable[[], None]) -> None:
        """End the thread when it has computed what waits, and this."""
        self._calls.put(last)


def _run(calls: "SimpleQueue[Call | Callable[[], None]]", loop: asyncio.AbstractEventLoop) -> None:
    while isinstance(call := calls.get(), Call):
        with cancellable(call.future.cancelled):
            call.compute()
        with suppress(RuntimeError):  # the loop has ended, and nobody waits
            loop.call_soon_threadsafe(call.settle)
        del call  # it may hold a large result
    call()
