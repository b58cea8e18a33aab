"""A lean single-threaded load generator, with closed loops over connections or an open loop at a fixed rate.

It shares the processors with the server, so it does little per request: it sends bytes prepared in advance, and reads
as many bytes as the response announces.
"""

import json
import re
import selectors
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import quantiles

CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
CLOSE = re.compile(rb"\r\nconnection: close\r\n", re.IGNORECASE)
IDLE_SECONDS = 20.0
"""A connection that has been idle for longer is not reused, because the server may be about to close it."""
MOST_CONNECTIONS = 6_000
"""Maximum number of connections in an open loop; a request that finds no free connection is counted but not sent."""


def post(path: str, body: object) -> bytes:
    """Return the bytes of a POST request."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(data) + data


@dataclass
class LoadResult:
    """The outcomes of the requests."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    """Duration in seconds of each request that was answered with 200."""
    statuses: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Number of 200 responses per second."""
        return len(self.times) / self.seconds

    def quantile_ms(self, percent: int) -> float:
        """Milliseconds within which this percentage of requests was answered."""
        return 1e3 * quantiles(self.times, n=100)[percent - 1] if len(self.times) > 1 else float("nan")


class _Connection:
    def __init__(self, selector: selectors.BaseSelector, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(self.socket, selectors.EVENT_READ, self)
        self.began, self.is_busy, self.is_open = 0.0, False, True
        self.head, self.missing = b"", -1

    def send(self, request: bytes, began: float) -> None:
        self.began, self.is_busy, self.head, self.missing = began, True, b"", -1
        with suppress(ConnectionError):  # `status` reports the closed connection later
            self.socket.sendall(request)

    def status(self) -> str | None:
        """Read the available bytes and return the status of a complete response; bodies are counted but not kept."""
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionResetError:
            data = b""
        if not data:
            return "closed"
        if self.missing < 0:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return None
            length = int(CONTENT_LENGTH.search(self.head)[1])  # type: ignore[index]
            self.missing = end + 4 + length - len(self.head)
        else:
            self.missing -= len(data)
        if self.missing > 0:
            return None
        self.is_busy = False
        if CLOSE.search(self.head):
            self.is_open = False
        return self.head[9:12].decode()


def closed_loop(port: int, requests: Sequence[bytes], connections: int, seconds: float) -> LoadResult:
    """Send the next request on each connection as soon as the previous one is answered."""
    selector, result, number = selectors.DefaultSelector(), LoadResult(), 0
    began = time.perf_counter()
    for _ in range(connections):
        _Connection(selector, port).send(requests[number % len(requests)], time.perf_counter())
        number += 1
    while time.perf_counter() < began + seconds:
        for connection, now in _answered(selector, result, 1.0):
            connection.send(requests[number % len(requests)], now)
            number += 1
    result.seconds = time.perf_counter() - began
    _close(selector)
    return result


def open_loop(port: int, requests: Sequence[bytes], rate: float, seconds: float) -> LoadResult:
    """Send `rate` requests per second, answered or not, each on a free connection or a new one."""
    selector, result, number = selectors.DefaultSelector(), LoadResult(), 0
    free: list[_Connection] = []
    began = time.perf_counter()
    while (now := time.perf_counter()) < began + seconds or _busy(selector):
        while number < rate * (now - began) and now < began + seconds:
            while free and (not free[-1].is_open or now - free[-1].began > IDLE_SECONDS):
                free.pop()
            if free or len(selector.get_map()) < MOST_CONNECTIONS:
                connection = free.pop() if free else _Connection(selector, port)
                connection.send(requests[number % len(requests)], began + number / rate)
            else:
                result.statuses["not sent"] += 1
            number += 1
        free += [connection for connection, _ in _answered(selector, result, 0.001)]
        if now > began + seconds + 60:
            break
    result.seconds = seconds
    result.statuses["unanswered"] += sum(key.data.is_busy for key in selector.get_map().values())
    _close(selector)
    return result


def _busy(selector: selectors.BaseSelector) -> bool:
    return any(key.data.is_busy for key in selector.get_map().values())


def _answered(
    selector: selectors.BaseSelector, result: LoadResult, timeout: float
) -> Iterator[tuple[_Connection, float]]:
    for key, _ in selector.select(timeout):
        connection = key.data
        status = connection.status()
        if status is None:
            continue
        now = time.perf_counter()
        if status == "closed":  # an idle connection may be closed at any time
            result.statuses["closed without an answer"] += connection.is_busy
            connection.is_open = False
        else:
            result.statuses[status] += 1
        if status == "200":
            result.times.append(now - connection.began)
        if connection.is_open:
            yield connection, now
        else:
            selector.unregister(connection.socket)
            connection.socket.close()


def _close(selector: selectors.BaseSelector) -> None:
    for key in list(selector.get_map().values()):
        key.data.socket.close()
    selector.close()
