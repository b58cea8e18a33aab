"""Connections: how many are served, which are refused and how, and who may hold one."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager, suppress
from functools import partial

import pytest

pytest.importorskip("uvicorn")

import uvicorn

from likewise.serve import bounded_protocol
from likewise.serve.bounded_protocol import BoundedProtocol
from likewise.serve.budget import Budget, Memory
from likewise.serve.web.api_errors import ERROR_SHAPES, ApiError
from tests.serve.requests_by_route import GOOD, posted

pytestmark = pytest.mark.anyio
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
SHAPES = {"/embed": "tei", "/v1/embeddings": "openai", "/v2/rerank": "cohere"}


@asynccontextmanager
async def listening(app, most=50, send_buffer=None):
    """A server of so many connections, with so many bytes in the kernel for each: its state, and what opens one."""
    http = partial(BoundedProtocol, most_connections=most, memory=app.state.server.memory)
    server = uvicorn.Server(uvicorn.Config(app, http=http, log_config=None, port=0, lifespan="on", ws="none"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    listener = server.servers[0].sockets[0]
    if send_buffer is not None:  # connections take it over from the socket that accepts them
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
    port = listener.getsockname()[1]
    opened = []

    async def connect():
        opened.append(await asyncio.open_connection("127.0.0.1", port))
        return opened[-1]

    yield app.state.server, connect
    for _, writer in opened:
        writer.close()
    server.should_exit = True
    await task


async def answer(connection, data):
    """Status, headers and body of the answer to some bytes."""
    reader, writer = connection
    writer.write(data)
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
    return int(head.split(" ")[1]), headers, await reader.readexactly(int(headers["content-length"]))


async def slow(scope, receive, send):
    """An application that answers every request after a while."""
    await asyncio.sleep(0.2)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


@asynccontextmanager
async def connected(**budget):
    """The protocol of a connection to the slow application, and the client's reader and writer."""
    ours, theirs = socket.socketpair()
    config = uvicorn.Config(slow, log_config=None)
    memory = Memory(Budget(**budget), 1)
    http = partial(BoundedProtocol, config, uvicorn.server.ServerState(), {}, most_connections=1, memory=memory)
    _, protocol = await asyncio.get_running_loop().connect_accepted_socket(http, ours)
    reader, writer = await asyncio.open_connection(sock=theirs)
    try:
        yield protocol, (reader, writer)
    finally:
        writer.close()
        protocol.transport.abort()


async def rest(connection):
    """What the server sends until the connection ends."""
    with suppress(ConnectionError):
        return await asyncio.wait_for(connection[0].read(), 5)
    return b""


async def test_a_request_for_two_hosts_is_refused(app_of):
    async with listening(app_of()) as (_, connect):
        for hosts in (b"Host: evil\r\nHost: localhost", b"host: localhost\r\nX-A: b\r\nX-A: c\r\nHOST: localhost"):
            for path in (b"/health", b"/info", b"/nowhere"):
                request = b"GET %s HTTP/1.1\r\n%s\r\n\r\n" % (path, hosts)
                status, _, body = await answer(await connect(), request)
                assert (status, b"several Host headers" in body) == (400, True)
        twice = HEALTH.replace(b"\r\n\r\n", b"\r\nX-A: b\r\nX-A: c\r\n\r\n")
        assert (await answer(await connect(), twice))[0] == 200


async def test_a_page_of_an_allowed_origin_may_ask_for_permission_on_a_real_connection(app_of):
    asked = b"OPTIONS /embed HTTP/1.1\r\nHost: localhost\r\nOrigin: https://mine.example\r\n\r\n"
    async with listening(app_of(allowed_origins=("https://mine.example",))) as (_, connect):
        reader, writer = await connect()
        writer.write(asked)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        assert head.startswith(b"HTTP/1.1 204 ") and b"content-length" not in head
        assert b"access-control-allow-origin: https://mine.example\r\n" in head
        assert (await answer((reader, writer), HEALTH))[0] == 200


async def test_a_client_that_reads_after_a_pause_keeps_its_connection():
    async with connected(write_seconds=0.1) as (protocol, connection):
        protocol.transport.write(bytes(4 << 20))
        assert protocol.flow.write_paused
        await connection[0].readexactly(4 << 20)
        await asyncio.sleep(0.15)
        assert not protocol.flow.write_paused and (await answer(connection, HEALTH))[0] == 200


async def test_what_is_no_http_is_refused_once(caplog):
    async with connected() as (_, connection):
        connection[1].write(b"no HTTP " * 10_000)
        assert (await rest(connection)).count(b"HTTP/1.1 400 ") == len(caplog.records) == 1


async def test_the_time_for_the_rest_of_a_body_whose_answer_is_sent_ends_with_it():
    async with connected() as (protocol, connection):
        connection[1].write(HEALTH.replace(b"\r\n\r\n", b"\r\nContent-Length: 2\r\n\r\n"))
        while not protocol._is_answering:
            await asyncio.sleep(0.005)
        assert protocol._arrival_timer is None
        assert (await answer(connection, b""))[0] == 200
        assert protocol._arrival_timer is not None
        connection[1].write(b"{}")
        while protocol._in_body:
            await asyncio.sleep(0.005)
        assert protocol._arrival_timer is None


async def test_requests_behind_another_are_counted_until_the_last_of_them_is_begun():
    async with connected() as (protocol, connection):
        connection[1].write(HEALTH * 3)
        for held in (bounded_protocol.PIPELINE, bounded_protocol.PIPELINE, 0):
            while not protocol._is_answering:
                await asyncio.sleep(0.005)
            assert protocol._memory.requests.held == held
            assert (await answer(connection, b""))[0] == 200


async def test_an_idle_connection_ends_even_if_its_client_has_not_read_everything():
    async with connected(write_seconds=0.02) as (protocol, (reader, _)):
        reader._transport.pause_reading()
        while not protocol.transport.get_write_buffer_size():
            protocol.transport.write(bytes(1000))
        assert not protocol.flow.write_paused
        protocol.timeout_keep_alive_handler()
        assert protocol.transport.is_closing()
        await asyncio.sleep(0.1)
        assert protocol.connections == set()


@pytest.mark.parametrize("is_used", [False, True])
async def test_a_stopping_server_closes_an_idle_connection(is_used, monkeypatch):
    monkeypatch.setattr(bounded_protocol, "IDLE_SECONDS", 0.02)
    async with connected() as (protocol, connection):
        if is_used:
            assert (await answer(connection, HEALTH))[0] == 200
        protocol.shutdown()
        assert await rest(connection) == b""


@pytest.mark.parametrize("place", ["in the kernel", "half of it here", "being answered"])
async def test_a_stopping_server_answers_a_last_request_wherever_it_is(place, monkeypatch):
    monkeypatch.setattr(bounded_protocol, "IDLE_SECONDS", 0.02)
    async with connected() as (protocol, connection):
        sent = HEALTH[:9] if place == "half of it here" else HEALTH
        if place == "in the kernel":
            protocol.transport.pause_reading()
        connection[1].write(sent)
        await asyncio.sleep(0.01)
        assert protocol._is_answering == (place == "being answered")
        protocol.shutdown()
        await asyncio.sleep(0.03)
        protocol.transport.resume_reading()
        status, headers, _ = await answer(connection, HEALTH[len(sent) :])
        assert (status, headers["connection"]) == (200, "close") and await rest(connection) == b""


async def test_too_large_headers_behind_a_running_request_end_the_connection():
    async with connected(head=1000) as (_, connection):
        connection[1].write(HEALTH)
        await asyncio.sleep(0.01)
        connection[1].write(b"GET /health HTTP/1.1\r\nX-A: " + b"b" * 2000)
        assert await rest(connection) == b""


async def test_a_connection_too_many_is_refused_in_the_shape_of_the_api_and_closed(app_of):
    async with listening(app_of(), 3) as (_, connect):
        held = [await connect() for _ in range(3)]
        assert [(await answer(one, HEALTH))[0] for one in held] == [200] * 3
        for path, shape in SHAPES.items():
            extra = await connect()
            status, headers, body = await answer(extra, posted(path, GOOD["POST", path]))
            assert (status, headers["connection"], headers["retry-after"]) == (429, "close", "1")
            assert json.loads(body).keys() == ERROR_SHAPES[shape].body(ApiError("invalid", "")).keys()
            assert await extra[0].read() == b""
        assert [(await answer(one, HEALTH))[0] for one in held] == [200] * 3
        held[0][1].close()
        await held[0][1].wait_closed()
        await asyncio.sleep(0.02)
        assert (await answer(await connect(), posted("/embed", {"inputs": "a"})))[0] == 200


async def test_connections_beyond_those_that_are_refused_hold_no_memory(app_of):
    async with listening(app_of(), 2) as (_, connect):
        kept = [await connect() for _ in range(4)]
        reader, _ = await connect()
        assert await asyncio.wait_for(reader.read(), 2) == b""
        statuses = [(await answer(one, HEALTH))[0] for one in kept]
        assert statuses == [200, 200, 429, 429]


@pytest.mark.parametrize("before", [b"", HEALTH])
async def test_who_never_finishes_headers_is_cut_off_on_a_used_connection_too(before, app_of):
    async with listening(app_of(budget=Budget(header_seconds=0.05)), 2) as (_, connect):
        connection = await connect()
        if before:
            assert (await answer(connection, before))[0] == 200
        connection[1].write(b"GET /health HTT")
        assert await asyncio.wait_for(connection[0].read(), 2) == b""
        idle = await connect()
        assert (await answer(idle, HEALTH))[0] == 200
        await asyncio.sleep(0.1)
        assert (await answer(idle, HEALTH))[0] == 200, "a used connection may be idle for longer"
