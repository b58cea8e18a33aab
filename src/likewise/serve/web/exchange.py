"""Exchange: one request and its reply: the body within bounds, headers by name, and who has gone away meanwhile."""

import asyncio
import itertools
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import orjson

from .api_errors import ApiError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
JSON = "application/json"
ROWS_AT_A_TIME = 16
"""Vectors that are written as JSON before other requests have their turn: about a tenth of a millisecond."""
SURPLUS = "likewise.surplus"
"""The extension in the scope of a request on a connection beyond those that the server takes."""
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Reply:
    """What is sent back: bytes, pieces of bytes, or what is sent as JSON."""

    body: Any
    headers: tuple[tuple[bytes, bytes], ...] = ()
    status: int = 200
    media_type: str = JSON


class Pieces(list[bytes]):
    """A body that is sent piece by piece."""


@dataclass(eq=False)
class Exchange:
    """A request, as its handler sees it."""

    scope: Scope
    receive: Receive
    server: Any
    """The server's state (`likewise.serve.server_state`), which this room knows nothing of."""
    body: Any = None
    """Checked by the route's schema; null fields and those left out have their defaults."""
    query: dict[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)
    key_name: str = ""
    """Who asks, where there are API keys."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What the log says of it: model, inputs, tokens …"""
    headers: dict[bytes, bytes] = field(init=False)
    """By lower-case name."""
    request_id: str = field(init=False)
    """The caller's X-Request-Id, if it is a plain word; else one of ours."""

    def __post_init__(self) -> None:
        self.headers = dict(self.scope["headers"])
        given = self.headers.get(b"x-request-id", b"")
        is_plain = given and REQUEST_ID.fullmatch(given)
        self.request_id = given.decode() if is_plain else f"{self.server.process_name}-{next(_numbers):x}"

    @property
    def path_values(self) -> dict[str, str]:
        """What stands in the path's braces."""
        values: dict[str, str] = self.scope.get("path_params", {})
        return values

    @property
    def is_surplus(self) -> bool:
        """Whether it came by a connection beyond those that the server takes."""
        return SURPLUS in self.scope.get("extensions", ())

    def query_texts(self) -> dict[str, str]:
        """The query string, each name once.

        Raises:
            ApiError: it is not UTF-8.
        """
        try:
            return dict(parse_qsl(self.scope.get("query_string", b"").decode("ascii"), True, errors="strict"))
        except (UnicodeDecodeError, ValueError):
            raise ApiError("invalid", "the query string is not valid UTF-8") from None

    async def read_body(self, most: int, seconds: float) -> bytes:
        """The whole body.

        Raises:
            ApiError: it is larger, arrives too slowly, or the caller went away.
        """
        announced = self.headers.get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > most:
            raise _too_large(most)
        message = await self.receive()
        if not message.get("more_body", False) and message["type"] == "http.request":
            return _bounded(message.get("body", b""), most)
        try:
            async with asyncio.timeout(seconds):
                return await self._further(message, most)
        except TimeoutError:
            raise ApiError("slow_body", f"the body did not arrive within {seconds:g} seconds") from None

    async def _further(self, message: MutableMapping[str, Any], most: int) -> bytes:
        parts, size = [], 0
        while True:
            if message["type"] == "http.disconnect":
                raise ApiError("client_gone", "the connection was closed before the body was complete")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise _too_large(most)
            if not message.get("more_body", False):
                return b"".join(parts)
            message = await self.receive()

    async def gone(self) -> None:
        """Wait until the caller has closed the connection; the body has been read before."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


def _bounded(body: bytes, most: int) -> bytes:
    if len(body) > most:
        raise _too_large(most)
    return body


def _too_large(most: int) -> ApiError:
    return ApiError("body_too_large", f"the body is larger than {most:,} bytes, which is the most this server takes")


def parse_json(body: bytes) -> Any:
    """A body as JSON.

    Raises:
        ApiError: it is empty or none.
    """
    if not body:
        raise ApiError("invalid", "the body is empty; expected JSON")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ApiError("invalid", f"the body is not valid JSON: {error}"[:300]) from None


def json_bytes(value: Any) -> bytes:
    """JSON, of NumPy arrays too; texts that are not valid Unicode, which only errors may quote, are escaped."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError:
        import json

        return json.dumps(value).encode()


async def json_rows(rows: Sequence[Any] | np.ndarray, entry: Callable[[int, Any], Any]) -> Pieces:
    """A JSON list of an entry for each row, in pieces; other requests have their turn between two of them."""
    if len(rows) <= ROWS_AT_A_TIME:
        return Pieces([orjson.dumps([entry(i, row) for i, row in enumerate(rows)], option=orjson.OPT_SERIALIZE_NUMPY)])
    pieces = Pieces([b"["])
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        if start:
            await asyncio.sleep(0)
            pieces.append(b",")
        some = [entry(i, row) for i, row in enumerate(rows[start : start + ROWS_AT_A_TIME], start)]
        pieces.append(orjson.dumps(some, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1])
    pieces.append(b"]")
    return pieces


def json_around(name: str, pieces: Sequence[bytes], rest: Mapping[str, Any]) -> Pieces:
    """A JSON object whose first field has been written in pieces."""
    return Pieces([b'{"%s":' % name.encode(), *pieces, b",", json_bytes(rest)[1:]])
