"""Exchange: a request and its response, with a size-limited body, headers by name, and detection of disconnects."""

import asyncio
import itertools
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from .api_errors import ApiError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
JSON = "application/json"
NUMBERS_AT_A_TIME = 1 << 13
"""Number of floats written as JSON before other requests get a turn; this takes about 0.25 ms."""
CONNECTION = "likewise.connection"
"""The extension in a request's scope that holds its connection (`bounded_protocol`); absent under other servers."""
UNCOUNTED = 1 << 13
"""Size in bytes up to which bodies and responses are not counted, because counting would take longer than reading."""
SMALL_BODY = 1 << 16
"""Size in bytes up to which bodies are counted separately, so that large bodies cannot keep small ones out."""
VALUES_PIECE = 1 << 18
"""Number of bytes of a body in which values are counted at a time; other threads get a turn in between."""
LARGE_BODY = 1 << 18
"""Size in bytes above which a body is parsed on another thread."""
RETRY_SECONDS = 1.0
"""Seconds after which a client may retry if the server's memory budget is full, or too many connections are open."""
_numbers = itertools.count(1)


@dataclass
class Reply:
    """A response; its body is bytes, pieces of bytes, or a value to encode as JSON, and is sent in pieces."""

    body: Any
    headers: tuple[tuple[bytes, bytes], ...] = ()
    status: int = 200
    media_type: str = JSON


class Pieces(list[bytes]):
    """A body sent piece by piece."""


@dataclass(eq=False)
class Exchange:
    """A request as its handler sees it."""

    scope: Scope
    receive: Receive
    server: Any
    """The server's state (`likewise.serve.application.ServerState`), whose type `web` does not import."""
    body: Any = None
    """The body as the route's `Body`, with defaults for null and missing fields."""
    query: Any = None
    """The query string as the route's `query` struct, with defaults for missing values."""
    began: float = field(default_factory=time.perf_counter)
    key_name: str = ""
    """The name of the client's API key, if keys are used."""
    held: dict[Any, int] = field(default_factory=dict)
    """What the server holds until this request ends: bytes by `Account` (`likewise.serve.budget`), and models."""
    ends: float = float("inf")
    """The deadline of the request, in `time.perf_counter` time."""
    is_late: bool = False
    """Whether the deadline has passed."""
    answer_size: int = 0
    """The expected size of the response in bytes."""
    has_begun: bool = False
    """Whether part of the response has been sent."""
    notes: dict[str, Any] = field(default_factory=dict)
    """Details for the log and the traces: model, inputs, tokens."""
    job: Any = None
    """The job that a model computed for this request."""
    awaited: "asyncio.Future[Any] | None" = None
    """Work to cancel if the client disconnects."""
    headers: dict[bytes, bytes] = field(init=False)
    """The request's headers by lowercase name."""
    connection: Any = field(init=False)
    """The request's connection (`bounded_protocol`); None under other servers."""
    request_id: str = field(init=False)
    """The client's X-Request-Id if it consists of letters, digits, `.`, `_` and `-`, otherwise a generated id."""

    def __post_init__(self) -> None:
        self.headers = dict(self.scope["headers"])
        self.connection = self.scope["extensions"].get(CONNECTION) if "extensions" in self.scope else None
        given = self.headers.get(b"x-request-id", b"")
        is_plain = given and REQUEST_ID.fullmatch(given)
        self.request_id = given.decode() if is_plain else f"{self.server.process_name}-{next(_numbers):x}"

    @property
    def path_values(self) -> dict[str, str]:
        """The values of the path parameters."""
        return dict(self.scope.get("path_params", {}))

    def hold(self, account: Any, size: int) -> None:
        """Count bytes, or uses of a model, against an account until the request ends."""
        if not account.take(size):
            about = f"this server's {account.name} already use all of their {account.most:,} bytes; try again later"
            raise ApiError("overloaded", about, retry_after=RETRY_SECONDS)
        self.held[account] = self.held.get(account, 0) + size

    def hold_answer(self, size: int) -> None:
        """Count the bytes of a response before computing it."""
        self.answer_size += size
        if self.answer_size <= UNCOUNTED:
            return
        memory = self.server.memory
        if self.answer_size > memory.budget.answer:
            about = f"the response would take {self.answer_size:,} bytes or more"
            most = f"this server sends at most {memory.budget.answer:,}. Split the request"
            raise ApiError("answer_too_large", f"{about}; {most}")
        self.hold(memory.answers, self.answer_size - self.held.get(memory.answers, 0))

    def settle_answer(self, size: int) -> None:
        """Count the response's actual bytes instead of the expected ones."""
        if size > self.answer_size:
            self.hold_answer(size - self.answer_size)
        elif self.held:
            answers = self.server.memory.answers
            more = self.held.get(answers, 0) - size
            if more > 0:
                self.held[answers] = size
                answers.give_back(more)

    def release(self) -> None:
        for account, size in self.held.items():
            account.give_back(size)
        self.held.clear()

    async def read_body(self, most: int, seconds: float) -> bytes:
        """Read the whole body; fail if it is too large or arrives too slowly, or if the client disconnects."""
        announced = self.headers.get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > most:
            raise _too_large(most)
        message = await self.receive()
        if not message.get("more_body", False) and message["type"] == "http.request":
            body: bytes = message.get("body", b"")
            if len(body) > min(most, UNCOUNTED):
                self._hold_body(len(body), len(body), most)
            return body
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
            self._hold_body(len(parts[-1]), size, most)
            if not message.get("more_body", False):
                return b"".join(parts)
            message = await self.receive()

    def _hold_body(self, more: int, size: int, most: int) -> None:
        if size > most:
            raise _too_large(most)
        if size > UNCOUNTED:
            memory = self.server.memory
            self.hold(memory.requests if size <= SMALL_BODY else memory.bodies, more)

    def watch(self, work: "asyncio.Future[Any]") -> None:
        """Cancel the awaited work as soon as the client closes the connection; the body must have been read."""

        async def until_gone() -> None:
            while (await self.receive())["type"] != "http.disconnect":
                pass
            work.cancel()

        self.awaited = None
        task = asyncio.ensure_future(until_gone())
        work.add_done_callback(lambda _: task.cancel())


def _too_large(most: int) -> ApiError:
    return ApiError("body_too_large", f"the body is larger than {most:,} bytes, which is this server's limit")


def check_values(body: bytes, most: int) -> None:
    """Reject a body that contains too many JSON values; a list or an object counts as ten.

    Each value takes up to 64 bytes in memory, however short its JSON is. Lists and objects take ten times as long to
    decode as numbers, and no other thread can run while a body is decoded.
    """
    starts = range(0, len(body), VALUES_PIECE)
    if sum(_count_values(body[start : start + VALUES_PIECE]) for start in starts) <= most:
        return
    found, in_string, rest = 0, 0, b""
    for start in starts:
        bare = (rest + body[start : start + VALUES_PIECE]).replace(rb"\\", b"")
        rest = b"\\" if bare.endswith(b"\\") else b""
        parts = bare.removesuffix(rest).replace(rb"\"", b"").split(b'"')
        found += _count_values(b"".join(parts[in_string::2]))
        in_string ^= len(parts) % 2 == 0  # an odd number of quotes
        if found > most:
            raise ApiError("body_too_large", f"the body has more than {most:,} values, which is this server's limit")


def _count_values(json: bytes) -> int:
    """Count values by their separators, with NumPy because `bytes.count` is slow if there are many matches."""
    characters = np.frombuffer(json, np.uint8)
    opening = (characters | 0x20) == ord("{")  # or "[", which differs from "{" only in this bit
    return int(np.count_nonzero(characters == ord(",")) + 10 * np.count_nonzero(opening))


def parse_json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ApiError("invalid", f"the body is not valid JSON: {error}"[:300]) from None


def json_bytes(value: Any) -> bytes:
    """Encode a value as JSON; NumPy arrays are allowed, and invalid Unicode (only quoted in errors) is escaped."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError:
        import json

        return json.dumps(value).encode()


async def json_rows(rows: np.ndarray, entry: Callable[[int, Any], Any]) -> Pieces:
    """Return a JSON list with one entry per row, in pieces; other requests get a turn between pieces."""
    size = max(1, NUMBERS_AT_A_TIME // rows.shape[1])
    if len(rows) <= size:
        return Pieces([orjson.dumps([entry(i, row) for i, row in enumerate(rows)], option=orjson.OPT_SERIALIZE_NUMPY)])
    pieces = Pieces([b"["])
    for start in range(0, len(rows), size):
        if start:
            await asyncio.sleep(0)
            pieces.append(b",")
        some = [entry(i, row) for i, row in enumerate(rows[start : start + size], start)]
        pieces.append(orjson.dumps(some, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1])
    pieces.append(b"]")
    return pieces


def json_around(name: str, pieces: Sequence[bytes], rest: Mapping[str, Any]) -> Pieces:
    """Return a JSON object whose first field is already encoded in pieces."""
    return Pieces([b'{"%s":' % name.encode(), *pieces, b",", json_bytes(rest)[1:]])
