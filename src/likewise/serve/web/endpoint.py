"""Endpoint: a row of the route table as an ASGI application, which reads, checks, handles, answers and logs requests.

For speed, there are few layers between the socket and a handler.
"""

import asyncio
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from ...errors import BadInput, LikewiseError, ModelNotFound, TooLong
from .api_errors import ERROR_SHAPES, ApiError, ErrorShape
from .bodies import Body, fill_nulls, read, read_query, refusal
from .exchange import (
    LARGE_BODY,
    Exchange,
    Pieces,
    Receive,
    Reply,
    Scope,
    Send,
    check_values,
    json_bytes,
    parse_json,
)

AT_ONCE = 1 << 16
"""Number of bytes of a response sent in one piece, which a client must read within `Budget.write_seconds`."""
FOLDERS = re.compile(r"(?<![\w./:])/(?:[^\s/'\",;:]+/)+(?=[^\s/'\",;:])")
"""Matches the folders in an absolute path, which are removed from error messages."""
MOST_DIAGNOSED = 1 << 20
"""Size in bytes above which a rejected body is not parsed again, because that would block all threads. The error
message then quotes no value, and 4.0 does not count as an integer."""
LOOK_SECONDS = 0.1
PATIENCE = 0.05
"""Seconds before checking whether a request's client has disconnected; most are answered sooner."""
ANSWER_SECONDS = 0.5
"""Extra seconds for a response that has begun, so that one that begins just before the deadline is not cut off."""


@dataclass(frozen=True)
class ApiRoute:
    """A route: its method and path, request and response formats, and the API whose error format is used."""

    method: str
    path: str
    handle: Callable[[Exchange], Awaitable[Reply]]
    summary: str
    api: str = "openai"
    """A key of ERROR_SHAPES."""
    body: type[Body] | None = None
    example: Mapping[str, Any] = field(default_factory=dict)
    """An example of a valid body."""
    query: type[Body] | None = None
    """The schema of the query string."""
    answer: dict[str, Any] | None = None
    """The JSON Schema of a successful response; None if the response is not JSON."""
    media_types: tuple[str, ...] = ("text/plain",)
    """The possible media types of a successful response that is not JSON."""
    is_open: bool = False
    """Whether the route is answered without an API key."""
    answers_only_errors: bool = False
    errors: tuple[str, ...] = ()
    """Kinds of error that this route may return in addition to those of every route."""
    seconds: float | None = None
    """Seconds within which a request must finish; None: the deadline in the settings."""
    measured_as: str | None = None
    """The kind of request in the metrics (`embed`, `rerank`); None: requests are not counted."""


class Deadlines:
    """The running requests by task; a shared timer cancels requests that take too long or whose clients are gone."""

    def __init__(self) -> None:
        self.running: dict[asyncio.Task[Any], Exchange] = {}
        self._is_looking = False
        self._last = float("inf")

    def begin(self, exchange: Exchange) -> "asyncio.Task[Any]":
        """Watch the current task, which answers a request; after the deadline, it is cancelled and marked as late."""
        task = asyncio.current_task()
        assert task is not None
        exchange.ends = min(exchange.ends, self._last)
        self.running[task] = exchange
        if not self._is_looking:
            self._is_looking = True
            asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)
        return task

    def stop(self, seconds: float) -> None:
        """Shorten every request's deadline, because the server is stopping."""
        self._last = time.perf_counter() + seconds
        for exchange in self.running.values():
            exchange.ends = min(exchange.ends, self._last)

    def _look(self) -> None:
        now = time.perf_counter()
        for task, exchange in self.running.items():
            if now > exchange.ends + ANSWER_SECONDS * exchange.has_begun and not exchange.is_late:
                exchange.is_late = True
                task.cancel()
            elif exchange.awaited is not None and now > exchange.began + PATIENCE:
                exchange.watch(exchange.awaited)
        self._is_looking = bool(self.running)
        if self._is_looking:
            asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)


class Endpoint:
    """Serves a route; `server` is the `ServerState`."""

    def __init__(self, route: ApiRoute, server: Any) -> None:
        self.route, self.server = route, server
        self._seconds = server.settings.deadline if route.seconds is None else route.seconds
        self._shape = ERROR_SHAPES[route.api]
        self._decode = None if route.body is None else msgspec.json.Decoder(route.body).decode

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; a request that is still running at its deadline is cancelled and gets an error."""
        exchange = Exchange(scope, receive, self.server)
        exchange.ends = exchange.began + self._seconds
        error: BaseException | None = None
        task = self.server.deadlines.begin(exchange)
        try:
            try:
                self.server.admission.check(exchange, self.route.is_open)
                await self._read(exchange)
                reply = await in_pieces(exchange, await self.route.handle(exchange))
            except Exception as caught:
                error = caught
                reply = error_reply(as_api_error(caught), self._shape)
            await send_reply(exchange, reply, send)
        except ConnectionError as gone:
            error = ApiError("client_gone", str(gone))
            reply = error_reply(error, self._shape)
        except asyncio.CancelledError:
            error = self._ended(exchange)
            reply = error_reply(error, self._shape)
            if not exchange.is_late:
                self.server.finished(exchange, self.route, reply.status, error)
                raise
            task.uncancel()
            if not exchange.has_begun:
                await send_reply(exchange, reply, send)
            elif exchange.connection is not None:  # the rest of a response cannot be replaced by an error
                exchange.connection.transport.abort()
        finally:
            del self.server.deadlines.running[task]
            if exchange.held:
                exchange.release()
        self.server.finished(exchange, self.route, reply.status, error)

    def _ended(self, exchange: Exchange) -> ApiError:
        if not exchange.is_late:
            return ApiError("cancelled", "the request was cancelled: the client disconnected or the server is stopping")
        if exchange.ends < exchange.began + self._seconds:
            return ApiError("stopping", "the server is stopping, and the request did not finish in time")
        return ApiError("deadline", f"the request took longer than {self._seconds:g} seconds")

    async def _read(self, exchange: Exchange) -> None:
        route, settings = self.route, self.server.settings
        if route.query is not None:
            try:
                given = parse_qsl(exchange.scope.get("query_string", b"").decode("ascii"), True, errors="strict")
            except ValueError:  # UnicodeDecodeError is a ValueError
                raise ApiError("invalid", "the query string is not valid UTF-8") from None
            exchange.query = read_query(route.query, given)
        if route.body is not None:
            body = await exchange.read_body(settings.max_body, settings.body_timeout)
            if len(body) > LARGE_BODY:
                exchange.body = await asyncio.to_thread(self._decoded, body)
            else:
                exchange.body = self._decoded(body)

    def _decoded(self, body: bytes) -> Any:
        assert self.route.body is not None and self._decode is not None
        most = self.server.memory.budget.values
        if 5 * len(body) > most:  # a list takes at least two bytes and counts as ten values
            check_values(body, most)
        try:
            found = self._decode(body)
        except ValueError as error:  # from msgspec or invalid UTF-8
            if len(body) > MOST_DIAGNOSED:
                raise refusal(self.route.body, error) from None
            found = read(self.route.body, parse_json(body))
        if b"null" in body:
            fill_nulls(found)
        return found


def as_api_error(error: Exception) -> ApiError:
    """Convert any error to an ApiError; unexpected errors are logged and their details hidden from the client."""
    if isinstance(error, ApiError):
        return error
    message = FOLDERS.sub("", str(error))
    if isinstance(error, ModelNotFound):
        return ApiError("model_not_found", message, param="model")
    if isinstance(error, BadInput):
        return ApiError("too_long" if isinstance(error, TooLong) else "invalid", message)
    what = "the model failed on this request" if isinstance(error, LikewiseError | MemoryError) else "an internal error"
    return ApiError("internal", f"{what}; for details, see the server's log entry with this request's id")


def error_reply(error: ApiError, shape: ErrorShape) -> Reply:
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if error.retry_after is not None:
        headers = ((b"retry-after", b"%d" % max(1, math.ceil(error.retry_after))),)
    if error.allow is not None:
        headers = ((b"allow", error.allow.encode()),)
    if error.name == "unauthorized":
        headers = ((b"www-authenticate", b"Bearer"),)
    if error.name in ("body_too_large", "slow_body"):
        headers = ((b"connection", b"close"),)
    return Reply(pieces_of(shape.body(error)), headers, shape.status(error.name))


async def in_pieces(exchange: Exchange, reply: Reply) -> Reply:
    """Convert the body to pieces of bytes, on another thread if it is large, and count them against the budget."""
    is_large = isinstance(reply.body, Pieces) and sum(map(len, reply.body)) > LARGE_BODY
    reply.body = await asyncio.to_thread(pieces_of, reply.body) if is_large else pieces_of(reply.body)
    exchange.settle_answer(sum(map(len, reply.body)))
    return reply


async def send_reply(exchange: Exchange, reply: Reply, send: Send) -> None:
    """Send a response in pieces, with the standard headers, and wait until the client has read all of it."""
    pieces = reply.body
    headers = [
        (b"content-type", reply.media_type.encode()),
        (b"content-length", b"%d" % sum(map(len, pieces))),
        (b"x-request-id", exchange.request_id.encode()),
        *exchange.server.admission.cors_headers(exchange),
        *reply.headers,
    ]
    exchange.has_begun = True
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    for piece in pieces[:-1]:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": pieces[-1]})
    connection = exchange.connection
    if connection is not None and connection.flow.write_paused:
        await connection.flow.drain()
        if connection.was_cut:
            raise ConnectionError("the client did not read the whole response")


def pieces_of(body: Any) -> Pieces:
    """Return the pieces of a body to send; consumes the body's own pieces, so that no piece is in memory twice."""
    pieces = body if isinstance(body, Pieces) else Pieces([body if isinstance(body, bytes) else json_bytes(body)])
    if sum(map(len, pieces)) <= AT_ONCE:
        return Pieces([b"".join(pieces)])
    return Pieces(_of_one_size(pieces))


def _of_one_size(pieces: list[Any]) -> Iterator[bytes]:
    """Join small pieces, and split large ones without copying."""
    some, size = list[bytes](), 0
    pieces.reverse()
    while pieces:
        piece = pieces.pop()
        if size + len(piece) > AT_ONCE:
            pieces.append(memoryview(piece)[AT_ONCE - size :])
            piece = memoryview(piece)[: AT_ONCE - size]
        some.append(piece)
        size += len(piece)
        if size == AT_ONCE or not pieces:
            yield b"".join(some)
            some, size = [], 0
