"""A reply by one system call: uvicorn writes head and body apart, and each write wakes the client up.

`OneWrite` stands between the application and uvicorn's way of sending. A reply whose body is one piece is written here;
every other one goes uvicorn's way.
"""

from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

Message = Any
CLOSE = b"connection: close"


class OneWrite:
    """How one request is answered; called with the messages of ASGI. `close` closes the connection after an answer."""

    def __init__(self, cycle: RequestResponseCycle, close: Callable[[], None]) -> None:
        self._cycle, self._close = cycle, close
        self._start: Message = None

    async def __call__(self, message: Message) -> None:
        """Keep the head until the body is there, and write both.

        Raises:
            ConnectionError: the client has gone.
        """
        cycle, start = self._cycle, self._start
        if cycle.disconnected:
            raise ConnectionError("the client has closed the connection")
        if start is None:
            if message["type"] == "http.response.start" and not cycle.response_started:
                self._start = message
            else:
                await cycle.send(message)
            return
        self._start = None
        is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
        if is_whole and not cycle.flow.write_paused and cycle.scope["method"] != "HEAD":
            self._write(start["status"], start["headers"], message.get("body", b""))
        else:
            await cycle.send(start)
            await cycle.send(message)

    def _write(self, status: int, headers: Any, body: bytes) -> None:
        """Head and body, and what uvicorn does after the last piece of a body.

        Raises:
            RuntimeError: a header has a line break, or the length of the body is not the announced one.
        """
        cycle = self._cycle
        lines = [name + b": " + value for name, value in headers]
        if not cycle.keep_alive and CLOSE not in lines:
            lines.append(CLOSE)
        head = b"\r\n".join(lines)
        if head.count(b"\n") != len(lines) - 1 or b"content-length: %d" % len(body) not in lines:
            raise RuntimeError("a reply's headers have a line break, or not the length of its body")
        cycle.response_started = True
        cycle.waiting_for_100_continue = False
        cycle.transport.write(b"".join((STATUS_LINE[status], head, b"\r\n\r\n", body)))
        cycle.response_complete = True
        cycle.message_event.set()
        if CLOSE in lines:
            cycle.keep_alive = False
            self._close()
        cycle.on_response()
