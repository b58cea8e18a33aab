"""BoundedProtocol: uvicorn's HTTP protocol, which also bounds what comes before a request is known to be one.

Headers larger than HEADERS are refused, and connections that have not sent theirs after HEADER_SECONDS are closed, so
that neither memory nor sockets can be held by those who never finish a request. Where there are more connections than
the server takes, a further one has its first request refused in the shape of the API that it asks, and is closed.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .one_write import OneWrite
from .web.exchange import SURPLUS

HEADERS = 1 << 16
"""Bytes."""
HEADER_SECONDS = 20.0


class BoundedProtocol(HttpToolsProtocol):  # type: ignore[misc]
    """One connection; `most_connections` is how many are served, and as many more are refused with an answer."""

    _header_bytes = 0
    _in_headers = True
    _header_timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, most_connections: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self._most, self._is_surplus = most_connections, False

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for headers; what exceeds even the connections that get a refusal is closed at once."""
        super().connection_made(transport)
        self._is_surplus = len(self.connections) > self._most
        if len(self.connections) > 2 * self._most:
            transport.abort()
            return
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Count bytes until headers are complete."""
        if self._in_headers:
            self._header_bytes += len(data)
            if self._header_bytes > HEADERS and len(data) <= HEADERS:
                self.send_400_response("Headers are too large.")
                return
        super().data_received(data)
        if self._in_headers and self._header_timer is None and not self.transport.is_closing():
            self._await_headers()  # those of a second request on this connection

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_headers = True

    def on_headers_complete(self) -> None:
        """Its headers are complete."""
        self._in_headers, self._header_bytes = False, 0
        self._stop_timer()
        if self._is_surplus:
            self.scope["extensions"] = {SURPLUS: {}}
        super().on_headers_complete()
        if self._is_surplus:
            self.cycle.keep_alive = False

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Answer a request, by one write where that can be."""
        super()._start_asgi_task(cycle, lambda scope, receive, _: app(scope, receive, OneWrite(cycle)))

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._stop_timer()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        self._header_timer = self.loop.call_later(HEADER_SECONDS, self._close_silent)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _close_silent(self) -> None:
        if self._in_headers and not self.transport.is_closing():
            self.transport.close()
