"""Connections: how many are served, which are refused and how, and who may hold one."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from functools import partial

import pytest

pytest.importorskip("uvicorn")

import uvicorn

from likewise.serve.bounded_protocol import BoundedProtocol
from likewise.serve.budget import Budget
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
