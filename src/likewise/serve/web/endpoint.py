"""Endpoint: a row of the table of routes as an ASGI application: read, check, handle, reply, count, log.

Nothing but what is needed stands between the socket and a handler: no request object is made that nobody reads.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ...errors import BadInput, LikewiseError, ModelNotFound, TooLong
from .api_errors import ERROR_SHAPES, ApiError, ErrorShape
from .deadlines import Deadlines
from .exchange import (
    LARGE_BODY,
    UNCOUNTED,
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
from .schemas import ObjectOf

AT_ONCE = 1 << 16
"""Bytes of a body that are sent in one piece, and that a client has to take within the budget's seconds."""
FOLDERS = re.compile(r"(?<![\w./:])/(?:[^\s/'\",;:]+/)+(?=[^\s/'\",;:])")
"""The folders of an absolute path."""
Handler = Callable[[Exchange], Awaitable[Reply]]


@dataclass(frozen=True)
class ApiRoute:
    """A row: a method and a path, what is sent, what is answered, and in which API's manner errors are."""

    method: str
    path: str
    handle: Handler
    summary: str
    api: str = "openai"
    """A row of ERROR_SHAPES."""
    body: ObjectOf | None = None
    query: ObjectOf | None = None
    """Values of the query string; whole numbers are read as such."""
    answer: dict[str, Any] | None = None
    """The JSON Schema of a good answer; None: not JSON."""
    media_types: tuple[str, ...] = ("text/plain",)
    """Of a good answer that is not JSON."""
    is_open: bool = False
    """Whether it is answered without an API key."""
    answers_only_errors: bool = False
    seconds: float | None = None
    """In which a request has to end; None: the settings' deadline."""
    measured_as: str | None = None
    """`embed`, `rerank` …: what the metrics call it; None: it is not measured."""


@runtime_checkable
class ServerHooks(Protocol):
    """What an endpoint asks of the server."""

    settings: Any
    memory: Any
    deadlines: Deadlines

    def admit(self, exchange: Exchange, is_open: bool) -> None:
        """Check host, origin, key and rate; raises ApiError."""
        ...

    def translated(self, error: BaseException) -> ApiError | None:
        """Errors of queues and models in HTTP's terms; None for what is unexpected."""
        ...

    def finished(self, exchange: Exchange, route: ApiRoute, status: int, error: BaseException | None) -> None:
        """Count and log."""
        ...


class Endpoint:
    """A route, served."""

    def __init__(self, route: ApiRoute, server: ServerHooks) -> None:
        self.route, self.server = route, server
        self._seconds = server.settings.deadline if route.seconds is None else route.seconds
        self._shape = ERROR_SHAPES[route.api]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever it waits for, it ends by its deadline."""
        exchange = Exchange(scope, receive, self.server)
        exchange.ends = exchange.began + self._seconds
        error: BaseException | None = None
        task = self.server.deadlines.begin(exchange)
        try:
            try:
                self.server.admit(exchange, self.route.is_open)
                await self._read(exchange)
                reply = in_pieces(exchange, await self.route.handle(exchange))
            except Exception as caught:
                error = caught
                reply = error_reply(as_api_error(caught, self.server), self._shape)
            await send_reply(exchange, reply, send)
        except ConnectionError as gone:
            error = ApiError("client_gone", str(gone))
            reply = error_reply(error, self._shape)
        except asyncio.CancelledError:
            error, reply = self._ended(exchange)
            if not exchange.is_late:
                self.server.finished(exchange, self.route, reply.status, error)
                raise
            task.uncancel()
            await self._end_late(exchange, reply, send)
        finally:
            self.server.deadlines.end(task)
            if exchange.held:
                exchange.release()
        self.server.finished(exchange, self.route, reply.status, error)

    def _ended(self, exchange: Exchange) -> tuple[ApiError, Reply]:
        """The error of a request whose task was cancelled."""
        if exchange.is_late:
            error = ApiError("deadline", f"the request took longer than {self._seconds:g} seconds")
        else:
            error = ApiError("cancelled", "the request was cancelled: its client has gone, or the server stops")
        return error, error_reply(error, self._shape)

    async def _end_late(self, exchange: Exchange, reply: Reply, send: Send) -> None:
        """Say that the deadline has passed; if an answer has begun, the connection is all that can be ended."""
        if not exchange.has_begun:
            await send_reply(exchange, reply, send)
        elif exchange.connection is not None:
            exchange.connection.abort()

    async def _read(self, exchange: Exchange) -> None:
        route, settings = self.route, self.server.settings
        if route.query is not None:
            exchange.query = route.query.check(_numbers(exchange.query_texts()), "")
        if route.body is not None:
            body = await exchange.read_body(settings.max_body, settings.body_timeout)
            if len(body) > LARGE_BODY:
                exchange.body = await asyncio.to_thread(self._parsed, body)
            else:
                exchange.body = self._parsed(body)

    def _parsed(self, body: bytes) -> Any:
        assert self.route.body is not None
        most = self.server.memory.budget.values
        if len(body) > most:  # each value has a byte
            check_values(body, most)
        return self.route.body.check(parse_json(body), "")


def as_api_error(error: Exception, server: ServerHooks) -> ApiError:
    """Any error as one of a request; what is unexpected is logged, and says nothing of itself to the caller."""
    if isinstance(error, ApiError):
        return error
    known = server.translated(error)
    if known is not None:
        return known
    if isinstance(error, ModelNotFound):
        return ApiError("model_not_found", without_folders(error), param="model")
    if isinstance(error, TooLong):
        return ApiError("too_long", without_folders(error))
    if isinstance(error, BadInput):
        return ApiError("invalid", without_folders(error))
    what = "the model failed on this request" if isinstance(error, LikewiseError | MemoryError) else "an internal error"
    return ApiError("internal", f"{what}; the server's log has it under this request's id")


def without_folders(error: object) -> str:
    """What an error of the library says, paths in it without the folders that they lie in."""
    return FOLDERS.sub("", str(error))


def error_reply(error: ApiError, shape: ErrorShape) -> Reply:
    """An error in the shape of an API."""
    status, body = shape.of(error)
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if error.retry_after is not None:
        headers = ((b"retry-after", str(max(1, -int(-error.retry_after // 1))).encode()),)
    if error.name == "unauthorized":
        headers = ((b"www-authenticate", b"Bearer"),)
    if error.name in ("body_too_large", "slow_body"):
        headers = ((b"connection", b"close"),)
    return Reply(pieces_of(body), headers, status)


def in_pieces(exchange: Exchange, reply: Reply) -> Reply:
    """A reply as pieces of bytes, which are counted.

    Raises:
        ApiError: it is larger than an answer may be, or too many wait to be read.
    """
    reply.body = pieces = pieces_of(reply.body)
    if len(pieces) > 1 or len(pieces[0]) > UNCOUNTED or exchange.held:
        exchange.settle_answer(sum(map(len, pieces)))
    return reply


async def send_reply(exchange: Exchange, reply: Reply, send: Send) -> None:
    """Write a reply in pieces, with what every reply has, and wait until all of it is taken.

    Raises:
        ConnectionError: the client has gone before that.
    """
    pieces = reply.body
    headers = [
        (b"content-type", reply.media_type.encode()),
        (b"content-length", b"%d" % sum(map(len, pieces))),
        (b"x-request-id", exchange.request_id.encode()),
        *exchange.server.common_headers(exchange),
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
            raise ConnectionError("the client has not taken all of the answer")


def pieces_of(body: Any) -> Pieces:
    """A body as what is sent at a time; its own list of pieces is used up, so that none is held twice."""
    pieces = body if isinstance(body, Pieces) else Pieces([body if isinstance(body, bytes) else json_bytes(body)])
    if len(pieces) == 1 and len(pieces[0]) <= AT_ONCE:
        return pieces
    if sum(map(len, pieces)) <= AT_ONCE:
        return Pieces([b"".join(pieces)])
    return Pieces(_of_one_size(pieces))


def _of_one_size(pieces: list[Any]) -> Iterator[bytes]:
    """Small pieces joined, and large ones cut without a copy."""
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


def _numbers(texts: dict[str, str]) -> dict[str, Any]:
    """Values of a query string, whole numbers as such."""
    return {name: int(text) if text.isdecimal() and len(text) < 12 else text for name, text in texts.items()}
