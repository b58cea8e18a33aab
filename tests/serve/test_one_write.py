"""OneWrite: the same bytes as by uvicorn's own way of sending, which stands beside it here."""

import asyncio
from itertools import pairwise

import pytest

pytest.importorskip("uvicorn")

from hypothesis import given
from hypothesis import strategies as st
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from likewise.serve.bounded_protocol import OneWrite

NAMES = st.sampled_from([b"content-type", b"x-request-id", b"retry-after", b"x-total-time"])
VALUES = st.text("abcdefghijk 0123456789-./;=", max_size=20).map(str.encode)
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=5)


class Transport:
    """What is written, in pieces."""

    def __init__(self):
        self.pieces, self.is_closed = [], False

    def write(self, data):
        self.pieces.append(bytes(data))

    def close(self):
        self.is_closed = True


def cycle_of(method="POST", keep_alive=True):
    return RequestResponseCycle(
        scope={"type": "http", "method": method},
        transport=Transport(),
        flow=FlowControl(None),
        logger=None,
        access_logger=None,
        access_log=False,
        default_headers=[],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive,
        on_response=lambda: None,
    )


def messages(status, headers, body, cuts=()):
    """A reply as an application sends it, its body in pieces that end at the cuts."""
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[a:b] for a, b in pairwise(edges)]
    yield {"type": "http.response.start", "status": status, "headers": [*headers, length_of(body)]}
    for number, piece in enumerate(pieces, 1):
        yield {"type": "http.response.body", "body": piece, "more_body": number < len(pieces)}


def length_of(body):
    return b"content-length", b"%d" % len(body)


def sent(cycle, send, reply):
    """Send a reply; its bytes, whether the connection is closed then, and how many writes it took."""

    async def run():
        for message in reply:
            await send(message)

    asyncio.run(run())
    return b"".join(cycle.transport.pieces), cycle.transport.is_closed, cycle.response_complete


@given(
    status=st.sampled_from([200, 404, 429, 500]),
    headers=HEADERS | HEADERS.map(lambda some: [*some, (b"connection", b"close")]),
    body=st.binary(max_size=200),
    cuts=st.lists(st.integers(0, 200), max_size=2),
    method=st.sampled_from(["GET", "POST", "HEAD"]),
    keep_alive=st.booleans(),
)
def test_the_bytes_are_those_of_uvicorn(status, headers, body, cuts, method, keep_alive):
    ours, theirs = cycle_of(method, keep_alive), cycle_of(method, keep_alive)
    reply = [*messages(status, headers, body, cuts)]
    assert sent(ours, OneWrite(ours, ours.transport.close), reply) == sent(theirs, theirs.send, reply)
    if not cuts and method != "HEAD":
        assert len(ours.transport.pieces) == 1


LENGTH = (b"content-length", b"4")


@pytest.mark.parametrize(
    ("headers", "is_gone", "error"),
    [
        ([(b"x-a", b"b\r\nx-c: d"), LENGTH], False, RuntimeError),
        ([(b"x-a", b"b\n"), LENGTH], False, RuntimeError),
        ([(b"x\n", b"b"), LENGTH], False, RuntimeError),
        ([(b"content-length", b"40")], False, RuntimeError),
        ([(b"x-a", b"b")], False, RuntimeError),
        ([LENGTH], True, ConnectionError),
    ],
)
def test_no_header_begins_another_no_body_has_a_wrong_length_and_who_has_gone_is_sent_nothing(headers, is_gone, error):
    cycle = cycle_of()
    cycle.disconnected = is_gone
    start, body = messages(200, [], b"body" if b"content-length" in dict(headers) else b"")
    with pytest.raises(error):
        sent(cycle, OneWrite(cycle, cycle.transport.close), [{**start, "headers": headers}, body])
    assert cycle.transport.pieces == []
