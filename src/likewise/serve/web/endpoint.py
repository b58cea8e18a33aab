"""Endpoint: a row of the table of routes as an ASGI application: read, check, handle, reply, count, log.

Nothing but what is needed stands between the socket and a handler: no request object is made that nobody reads.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ...errors import BadInput, LikewiseError, ModelNotFound, TooLong
from .api_errors import ERROR_SHAPES, ApiError, ErrorShape
from .exchange import Exchange, Pieces, Receive, Reply, Scope, Send, json_bytes, parse_json
from .schemas import ObjectOf

AT_ONCE = 1 << 16
"""Bytes of a body that are sent in one piece."""
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
    measured_as: str | None = None
    """`embed`, `rerank` …: what the metrics call it; None: it is not measured."""


@runtime_checkable
class ServerHooks(Protocol):
    """What an endpoint asks of the server."""

    settings: Any

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
        self._shape = ERROR_SHAPES[route.api]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        exchange = Exchange(scope, receive, self.server)
        error: BaseException | None = None
        try:
            self.server.admit(exchange, self.route.is_open)
            await self._read(exchange)
            reply = await self.route.handle(exchange)
        except asyncio.CancelledError:
            raise
        except Exception as caught:
            error = caught
            reply = error_reply(as_api_error(caught, self.server), self._shape)
        await send_reply(exchange, reply, send)
        self.server.finished(exchange, self.route, reply.status, error)

    async def _read(self, exchange: Exchange) -> None:
        route, settings = self.route, self.server.settings
        if route.query is not None:
            exchange.query = route.query.check(_numbers(exchange.query_texts()), "")
        if route.body is not None:
            body = await exchange.read_body(settings.max_body, settings.body_timeout)
            exchange.body = route.body.check(parse_json(body), "")


def as_api_error(error: Exception, server: ServerHooks) -> ApiError:
    """Any error as one of a request; what is unexpected is logged, and says nothing of itself to the caller."""
    if isinstance(error, ApiError):
        return error
    known = server.translated(error)
    if known is not None:
        return known
    if isinstance(error, ModelNotFound):
        return ApiError("model_not_found", str(error), param="model")
    if isinstance(error, TooLong):
        return ApiError("too_long", str(error))
    if isinstance(error, BadInput):
        return ApiError("invalid", str(error))
    what = "the model failed on this request" if isinstance(error, LikewiseError | MemoryError) else "an internal error"
    return ApiError("internal", f"{what}; the server's log has it under this request's id")


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
    return Reply(body, headers, status)


async def send_reply(exchange: Exchange, reply: Reply, send: Send) -> None:
    """Write a reply, with what every reply has."""
    pieces = pieces_of(reply.body)
    headers = [
        (b"content-type", reply.media_type.encode()),
        (b"content-length", b"%d" % sum(map(len, pieces))),
        (b"x-request-id", exchange.request_id.encode()),
        *exchange.server.common_headers(exchange),
        *reply.headers,
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    for piece in pieces[:-1]:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": pieces[-1]})


def pieces_of(body: Any) -> list[bytes]:
    """A body as what is sent at a time: all of it where it is small."""
    if isinstance(body, bytes):
        return [body]
    if not isinstance(body, Pieces):
        return [json_bytes(body)]
    return list(body) if sum(map(len, body)) > AT_ONCE else [b"".join(body)]


def _numbers(texts: dict[str, str]) -> dict[str, Any]:
    """Values of a query string, whole numbers as such."""
    return {name: int(text) if text.isdecimal() and len(text) < 12 else text for name, text in texts.items()}
