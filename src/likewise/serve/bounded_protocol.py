"""BoundedProtocol: uvicorn's HTTP protocol, which also bounds what comes before a request is known to be one.

Headers larger than HEADERS are refused, and connections that have not sent theirs after HEADER_SECONDS are closed, so
that neither memory nor sockets can be held by those who never finish a request.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS = 1 << 16
"""Bytes."""
HEADER_SECONDS = 20.0


class BoundedProtocol(HttpToolsProtocol):  # type: ignore[misc]
    """One connection."""

    _header_bytes = 0
    _in_headers = True
    _header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._header_timer = self.loop.call_later(HEADER_SECONDS, self._close_silent)

    def data_received(self, data: bytes) -> None:
        """Count bytes until headers are complete."""
        if self._in_headers:
            self._header_bytes += len(data)
            if self._header_bytes > HEADERS and len(data) <= HEADERS:
                self.send_400_response("Headers are too large.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_headers = True

    def on_headers_complete(self) -> None:
        """Its headers are complete."""
        self._in_headers, self._header_bytes = False, 0
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        if self._header_timer is not None:
            self._header_timer.cancel()
        super().connection_lost(exc)

    def _close_silent(self) -> None:
        if self._in_headers and not self.transport.is_closing():
            self.transport.close()
