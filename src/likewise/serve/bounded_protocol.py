"""BoundedProtocol: uvicorn's HTTP protocol with limits on a connection's headers, requests and responses.

Headers, trailers and chunk extensions beyond the budget are rejected, no matter how they arrive. The server closes a
connection whose client does not finish a request, or does not read its responses. On a connection beyond the limit, the
first request is answered with an error in the format of the API that it uses, and the connection is closed.
"""

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from .budget import Memory
from .web.exchange import CONNECTION, UNCOUNTED

CLOSE = b"connection: close"
PIECE = 1 << 14
"""Number of bytes parsed at a time; headers and pipelined requests can exceed their limits by this much."""
SMALL_CHUNK = 64
"""Size in bytes; if the chunks of a body are smaller on average, their number is limited."""
PIPELINE = 1 << 18
"""Bytes counted for a connection with waiting requests: the size of one read."""
LINGER_SECONDS = 2.0
"""Seconds that a rejected client may keep sending, so that it can read the response before the connection is reset."""
IDLE_SECONDS = 0.25
"""Seconds that a stopping server waits for requests already in transit on idle connections."""


class BoundedProtocol(HttpToolsProtocol):  # type: ignore[misc]
    """One connection; up to `most_connections` are served, and as many again are rejected with an error response."""

    headers: list[tuple[bytes, bytes]]
    is_surplus = False
    was_cut = False
    """Whether the connection ended before the client read everything."""
    _in_headers, _in_body, _has_advanced, _is_stopping = True, False, False, False
    _is_refused = _is_too_large = _is_in_crumbs = False
    """If `_is_refused`, further input is ignored; if `_is_in_crumbs`, the body arrives in too many small chunks."""
    _head_bytes = _pipeline_bytes = _chunks = _chunk_bytes = 0
    _running: RequestResponseCycle | None = None
    """The request being answered, or the last one answered."""
    _arrival_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, most_connections: int, memory: Memory, **options: Any) -> None:
        super().__init__(*args, **options)
        self._most, self._memory, self._budget = most_connections, memory, memory.budget

    def connection_made(self, transport: Any) -> None:
        """Start waiting for headers; connections beyond those that get an error response are closed immediately."""
        super().connection_made(transport)
        # asyncio then calls `pause_writing` only if the client leaves bytes unread that count against the budget
        transport.set_write_buffer_limits(high=UNCOUNTED, low=0)
        self.is_surplus = len(self.connections) > self._most
        if len(self.connections) > 2 * self._most:
            transport.abort()
            return
        self._await_rest()

    def data_received(self, data: bytes) -> None:
        """Parse incoming data in pieces, and stop if the connection is rejected."""
        for start in range(0, len(data), PIECE):
            if self._is_refused or self.transport.is_closing():
                return
            self._parse(data[start : start + PIECE])

    def _parse(self, piece: bytes) -> None:
        """Parse a piece; if all of it belongs to unfinished headers, trailers or chunk extensions, count its bytes."""
        self._has_advanced = False
        super().data_received(piece)
        if self._has_advanced and not (self._in_headers or self._head_bytes or self._is_refused):
            return  # the usual case
        if self.transport.is_closing():
            return
        if self._has_advanced:
            self._forget_head()
        elif not self._memory.requests.take(len(piece)):
            self._refuse(503, "This server is busy; try again later.")
            return
        else:
            self._head_bytes += len(piece)
        lines = len(self.headers or ())
        if self._is_too_large or self._head_bytes > self._budget.head or lines > self._budget.header_lines:
            bound = f"{self._budget.head} bytes and {self._budget.header_lines} lines"
            self._refuse(431, f"Headers, trailers or chunk extensions are too large; the limit is {bound}.")
        elif self._is_in_crumbs:
            most = f"{self._budget.chunks} chunks of fewer than {SMALL_CHUNK} bytes"
            self._refuse(400, f"The body arrives in too many small chunks; the limit is {most}.")
        elif self._in_headers and self._arrival_timer is None and not self._is_refused:
            self._await_rest()  # for a second request on this connection, whose headers have begun

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers = True

    def on_headers_complete(self) -> None:
        self._in_headers, self._in_body, self._has_advanced = False, True, True
        self._chunks = self._chunk_bytes = 0
        if len(self.headers) > self._budget.header_lines:
            self._is_refused = self._is_too_large = True
        if self._is_refused:
            return
        self._stop_arrival()
        self.scope["extensions"] = {CONNECTION: self}
        super().on_headers_complete()
        self.headers = []  # trailers go into a list of their own, which handlers never receive
        if self.is_surplus or self._is_stopping:
            self.cycle.keep_alive = False
        if self.pipeline:
            self._bound_pipeline()

    def on_body(self, body: bytes) -> None:
        self._has_advanced = True
        if self._is_refused:
            return
        self._chunks += 1
        self._chunk_bytes += len(body)
        if self._chunks > self._budget.chunks and self._chunk_bytes < SMALL_CHUNK * self._chunks:
            self._is_refused = self._is_in_crumbs = True
            return
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body, self._has_advanced = False, True
        self._stop_arrival()
        if not self._is_refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._pipeline_bytes and not self.pipeline:
            self._forget_pipeline()
        if self._in_body and self.cycle is self._running and self._arrival_timer is None:
            self._await_rest()  # the rest of the body is discarded

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Answer a request, with a single write if possible."""
        self._running = cycle
        super()._start_asgi_task(cycle, lambda scope, receive, _: app(scope, receive, OneWrite(cycle, self.close)))

    def pause_writing(self) -> None:
        """Wait for a client that reads too slowly, up to the time limit; called by asyncio."""
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.was_cut = self.flow.write_paused
        self._stop_arrival()
        self._stop_writing()
        self._forget_head()
        self._forget_pipeline()
        super().connection_lost(exc)
        if self._is_answering:  # uvicorn notifies only the last request, which may be a different one
            self._give_up_running()

    def close(self) -> None:
        """Close the connection after a response; a client that is still sending gets time to read it."""
        self.pipeline.clear()
        if not (self._in_body or self._is_refused):
            self._await_reader()
            self.transport.close()
        elif not self.transport.is_closing():
            self._is_refused = True
            if self.transport.can_write_eof():
                self.transport.write_eof()
            self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def timeout_keep_alive_handler(self) -> None:
        self._await_reader()
        super().timeout_keep_alive_handler()

    def shutdown(self) -> None:
        """Close the connection after the running response, or soon if nothing is in transit; called at shutdown."""
        self._is_stopping = True
        if self._is_answering:
            super().shutdown()
        else:
            self.loop.call_later(IDLE_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        if not (self._is_answering or self._head_bytes or self.transport.is_closing() or self._has_unread()):
            self.transport.close()

    def _has_unread(self) -> bool:
        """Whether the kernel holds bytes of a request that the event loop has not read yet."""
        with socket.socket(fileno=os.dup(self.transport.get_extra_info("socket").fileno())) as same:
            try:
                return bool(same.recv(1, socket.MSG_PEEK))
            except OSError:  # there are no bytes, or the connection is lost
                return False

    @property
    def _is_answering(self) -> bool:
        return self._running is not None and not self._running.response_complete

    def _refuse(self, status: int, message: str) -> None:
        """Send an error and close the connection; skip the error if another response has begun or is due first."""
        self._is_refused = True
        running = self._running
        if running is not None and not running.response_complete:
            if self._in_headers or running is not self.cycle or running.response_started:
                self.transport.abort()
                return
            self._give_up_running()
        head = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head % len(message) + message.encode())
        self.close()

    def _give_up_running(self) -> None:
        """Tell the request's handler that the client has disconnected."""
        assert self._running is not None
        self._running.disconnected = True
        self._running.message_event.set()

    def _bound_pipeline(self) -> None:
        """Count the requests waiting on this connection; at the limit, the connection closes after the last of them."""
        if not self._pipeline_bytes:
            if not self._memory.requests.take(PIPELINE):
                self.transport.abort()
                return
            self._pipeline_bytes = PIPELINE
        if len(self.pipeline) >= self._budget.pipelined:
            self.cycle.keep_alive, self._is_refused = False, True

    def _forget_head(self) -> None:
        self._memory.requests.give_back(self._head_bytes)
        self._head_bytes = 0

    def _forget_pipeline(self) -> None:
        self._memory.requests.give_back(self._pipeline_bytes)
        self._pipeline_bytes = 0

    def _await_rest(self) -> None:
        self._arrival_timer = self.loop.call_later(self._budget.header_seconds, self._close_silent)

    def _stop_arrival(self) -> None:
        if self._arrival_timer is not None:
            self._arrival_timer.cancel()
            self._arrival_timer = None

    def _await_reader(self) -> None:
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self._budget.write_seconds, self.transport.abort)

    def _stop_writing(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _close_silent(self) -> None:
        if (self._in_headers or self._in_body) and not self.transport.is_closing():
            self.transport.close()


class OneWrite:
    """Writes a response with a single system call if its body is one piece; leaves all other responses to uvicorn.

    uvicorn writes headers and body separately, and each write wakes the client. `close` closes the connection
    afterwards if it is not kept alive.
    """

    def __init__(self, cycle: RequestResponseCycle, close: Callable[[], None]) -> None:
        self._cycle, self._close = cycle, close
        self._start: Any = None

    async def __call__(self, message: Any) -> None:
        """Hold the headers back until the body arrives, then write both."""
        cycle, start = self._cycle, self._start
        if cycle.disconnected:
            raise ConnectionError("the client has closed the connection")
        if start is None:
            if cycle.response_started:
                await cycle.send(message)
            else:
                self._start = message
            return
        self._start = None
        is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
        if is_whole and not cycle.flow.write_paused and cycle.scope["method"] != "HEAD":
            self._write(start["status"], start["headers"], message.get("body", b""))
        else:
            await cycle.send(start)
            await cycle.send(message)

    def _write(self, status: int, headers: Any, body: bytes) -> None:
        """Write headers and body, and do what uvicorn does after the last piece of a body."""
        cycle = self._cycle
        lines = [name + b": " + value for name, value in headers]
        if not cycle.keep_alive and CLOSE not in lines:
            lines.append(CLOSE)
        head = b"\r\n".join(lines)
        has_length = b"content-length: %d" % len(body) in lines or (status == 204 and not body)
        if head.count(b"\n") != len(lines) - 1 or not has_length:
            raise RuntimeError("a response header contains a line break, or the Content-Length is wrong")
        cycle.response_started = True
        cycle.waiting_for_100_continue = False
        cycle.transport.write(b"".join((STATUS_LINE[status], head, b"\r\n\r\n", body)))
        cycle.response_complete = True
        cycle.message_event.set()
        if CLOSE in lines:
            cycle.keep_alive = False
            self._close()
        cycle.on_response()
