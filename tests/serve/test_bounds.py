"""What callers can make a server hold is bounded: bytes that it reads, computes and sends, and its time."""

import asyncio
import json
import re
import socket
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("uvicorn")

from starlette.testclient import TestClient

from likewise.errors import BadInput
from likewise.serve import ServeSettings, bounded_protocol
from likewise.serve.application import api_routes
from likewise.serve.batching import COMPUTED, Job
from likewise.serve.bounded_protocol import PIECE
from likewise.serve.budget import Budget, Memory
from likewise.serve.model_store import EmbedderWork
from likewise.serve.routes.computing import json_bytes_of
from likewise.serve.web import endpoint, exchange
from likewise.serve.web.api_errors import ERROR_SHAPES, ApiError
from likewise.serve.web.endpoint import AT_ONCE, as_api_error
from likewise.serve.web.exchange import Pieces, check_values, json_bytes
from tests.serve.conftest import HOST
from tests.serve.requests_by_route import GOOD, posted
from tests.serve.running_server import wait_until
from tests.serve.test_connections import HEALTH, answer, listening

pytestmark = pytest.mark.anyio
CHUNKED = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
FLOODS = {
    "header lines": (b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"X-A: bcdefghijklmnop\r\n"),
    "one header": (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ", b"b" * 1000),
    "a path": (b"GET /", b"a" * 1000),
    "trailers": (CHUNKED + b'5\r\n{"inp\r\n0\r\n', b"X-A: bcdefghijklmnop\r\n"),
    "one trailer": (CHUNKED + b'5\r\n{"inp\r\n0\r\nX-A: ', b"b" * 1000),
    "a chunk extension": (CHUNKED + b"5;a=", b"b" * 1000),
}
MANY = [f"cat {i}" for i in range(200)]
BOMBS = {
    "/v1/embeddings": {"input": MANY},
    "/embeddings": {"input": MANY, "encoding_format": "bytes"},
    "/embed": {"inputs": MANY},
    "/": {"inputs": MANY},
    "/rerank": {"query": "a", "texts": MANY, "return_text": True},
    "/v1/rerank": {"query": "a", "documents": MANY},
    "/v2/rerank": {"query": "a", "documents": MANY},
    "/embed_all": {"inputs": ["cat dog " * 30]},
    "/tokenize": {"inputs": "a " * 200},
    "/decode": {"ids": [[5, 6, 7] * 2000]},
    "/similarity": {"texts": MANY},
}
"""A small request for a large answer, by route."""


async def until(condition, seconds=20.0):
    """Wait until something holds."""
    last = time.perf_counter() + seconds
    while not condition():
        assert time.perf_counter() < last
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("kind", FLOODS)
async def test_a_flood_of_headers_ends_at_the_bound_however_it_arrives(kind, app_of):
    begin, more = FLOODS[kind]
    async with listening(app_of()) as (state, connect):
        reader, writer = await connect()
        writer.write(begin + more * (4_000_000 // len(more)))
        answered = await asyncio.wait_for(reader.read(), 5)
        assert answered.startswith(b"HTTP/1.1 431 ") and answered.count(b"HTTP/1.1 ") == 1
        held = state.memory.requests.held
        assert held <= Budget().head + PIECE
        writer.close()
        await until(lambda: state.memory.requests.held == 0)
        assert (await answer(await connect(), HEALTH))[0] == 200


@pytest.mark.parametrize("size", [1_000, PIECE, 100_000])
async def test_headers_within_the_bound_are_read_whatever_comes_with_them(size, app_of):
    request = posted("/embed", {"inputs": ["a cat" + " " * 200_000]}, b"X-A: %s\r\n" % (b"b" * 65_000)) * 2
    async with listening(app_of()) as (_, connect):
        connection = await connect()
        for start in range(0, len(request), size):
            connection[1].write(request[start : start + size])
            if not start % 50_000:
                await asyncio.sleep(0)
        assert [(await answer(connection, b""))[0] for _ in range(2)] == [200, 200]


async def test_trailers_are_not_taken_for_headers(app_of):
    async with listening(app_of()) as (_, connect):
        first = CHUNKED.replace(b"/embed", b"/nowhere") + b"0\r\nX-Request-Id: a-trailer\r\n\r\n"
        status, headers, _ = await answer(await connect(), first)
        assert status in (404, 405)
        assert headers.get("x-request-id") != "a-trailer"


@pytest.mark.parametrize(
    ("size", "count", "status"), [(1, 30, 200), (1, 31, 400), (63, 31, 400), (64, 31, 200), (200, 60, 200)]
)
async def test_a_body_in_many_small_chunks_is_refused_with_the_bound(size, count, status, app_of):
    body = b'{"inputs": "a cat"}'.ljust(size * count)
    chunks = b"".join(b"%x\r\n%s\r\n" % (size, body[i : i + size]) for i in range(0, len(body), size))
    async with listening(app_of(budget=Budget(chunks=30))) as (state, connect):
        connection = await connect()
        for _ in range(2 if status == 200 else 1):
            found, _, text = await answer(connection, CHUNKED + chunks + b"0\r\n\r\n")
            assert found == status and (status == 200 or b"30 chunks of fewer than 64 bytes" in text)
        await until(lambda: state.memory.requests.held == 0)


@pytest.mark.parametrize(("lines", "status"), [(128, 200), (129, 431)])
async def test_as_many_header_lines_as_the_bound_says_are_read(lines, status, app_of):
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * (lines - 1)
    in_parts = [request, b"\r\n" if status == 200 else b"X-"]  # too many are refused before their end
    for parts in ([request + b"\r\n"], in_parts):
        async with listening(app_of()) as (_, connect):
            reader, writer = await connect()
            for part in parts:
                writer.write(part)
                await asyncio.sleep(0.02)
            assert (await answer((reader, writer), b""))[0] == status


async def test_headers_that_no_memory_is_left_for_are_refused_and_what_is_complete_is_answered(app_of):
    async with listening(app_of()) as (state, connect):
        account = state.memory.requests
        assert account.take(account.most - 10)
        status, headers, text = await answer(await connect(), HEALTH[:-2])
        assert (status, headers["connection"], text) == (503, "close", b"This server is busy; try again later.")
        assert (await answer(await connect(), HEALTH))[0] == 200
        reader, writer = await connect()
        writer.write(HEALTH * 3)  # two have to wait
        assert (await asyncio.wait_for(reader.read(), 5)).count(b"HTTP/1.1 200") <= 1
        account.give_back(account.most - 10)
        assert account.held == 0


@pytest.mark.parametrize("size", [PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 1])
async def test_a_request_of_any_size_is_read_to_its_last_byte(size, app_of):
    short = posted("/embed", {"inputs": ["a cat"]}, b"X-A: \r\n")
    request = short.replace(b"X-A: ", b"X-A: " + b"b" * (size - len(short)))
    async with listening(app_of()) as (_, connect):
        assert len(request) == size and (await answer(await connect(), request))[0] == 200


async def test_a_client_that_goes_on_sending_after_its_refusal_is_cut_off(app_of, monkeypatch):
    monkeypatch.setattr(bounded_protocol, "LINGER_SECONDS", 0.05)
    async with listening(app_of(max_body=1000)) as (_, connect):
        reader, writer = await connect()
        writer.write(b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000000\r\n\r\n")
        assert b" 413 " in await asyncio.wait_for(reader.read(), 5)
        with pytest.raises(ConnectionError):
            for _ in range(500):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.01)


async def test_of_many_requests_on_a_connection_the_first_are_answered_and_then_it_is_closed(app_of):
    async with listening(app_of(budget=Budget(pipelined=3))) as (state, connect):
        reader, writer = await connect()
        writer.write(HEALTH * 500)
        answers = (await asyncio.wait_for(reader.read(), 5)).lower()
        assert answers.count(b"http/1.1 200") == 4
        assert answers.count(b"connection: close") == 1
        await until(lambda: state.memory.requests.held == 0)


async def test_a_client_that_reads_nothing_is_cut_off_and_counted(app_of, capfd):
    budget = Budget(write_seconds=0.2)
    async with listening(app_of(budget=budget, log="all")) as (state, connect):
        writers = []
        for _ in range(3):
            reader, writer = await connect()
            reader._transport.pause_reading()
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            writer.write(posted("/embed_all", {"inputs": ["cat dog " * 20] * 800}))
            writers.append(writer)
        await until(lambda: state.memory.answers.held > 0)
        await until(lambda: state.memory.answers.held == 0, 10)
        assert (await answer(await connect(), HEALTH))[0] == 200
        state.log.flush()
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if '"/embed_all"' in line]
    assert [line["status"] for line in lines] == [499] * 3


async def test_an_answer_has_to_be_taken_before_the_deadline(app_of):
    async with listening(app_of(deadline=1.0)) as (state, connect):
        reader, writer = await connect()
        reader._transport.pause_reading()
        writer.write(posted("/embed_all", {"inputs": ["cat dog " * 20] * 800}))
        began = time.perf_counter()
        await until(lambda: state.memory.answers.held > 0)
        await until(lambda: state.memory.answers.held == 0)
        assert time.perf_counter() - began < 20  # it would wait for ever


@pytest.mark.parametrize("route", [r for r in api_routes(ServeSettings()) if r.path in BOMBS and r.method == "POST"])
def test_an_answer_beyond_the_bound_is_refused_in_the_shape_of_the_api(route, app_of):
    with TestClient(app_of(budget=Budget(answer=5000)), base_url=HOST) as client:
        response = client.post(route.path, json=BOMBS[route.path])
        assert response.status_code == 413, response.text
        assert response.json().keys() == ERROR_SHAPES[route.api].body(ApiError("invalid", "")).keys()
        assert "5,000" in response.text
        assert client.post(route.path, json=GOOD[route.method, route.path]).status_code == 200
        assert client.get("/status").json()["held"]["answers"] < 5000


@pytest.mark.parametrize(
    ("path", "body", "size"),
    [
        ("/v1/embeddings", {"input": MANY}, 200 * (16 * 32 + 64)),
        ("/v1/embeddings", {"input": MANY, "encoding_format": "base64"}, 200 * (6 * 32 + 64)),
        ("/v1/embeddings", {"input": MANY, "encoding_format": "bytes"}, 200 * 4 * 32),
        ("/embed", {"inputs": MANY, "dimensions": 5}, 200 * (16 * 5 + 64)),
        ("/similarity", {"texts": MANY}, 200 * (16 * 200 + 64)),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": MANY}}, 201 * (16 + 64)),
        ("/embed_all", {"inputs": ["cat dog " * 30, "cat " * 300]}, (62 + 66) * (16 * 32 + 64)),
        ("/predict", {"inputs": MANY, "top_k": 2}, 200 * 2 * (64 + 6 * 6)),
    ],
)
def test_the_answer_is_refused_by_its_largest_size_before_anything_is_embedded(path, body, size, app_of, monkeypatch):
    app = app_of(budget=Budget(answer=5000))
    for module in ("computing", "predict"):
        monkeypatch.setattr(f"likewise.serve.routes.{module}.computed", lambda *_, **__: pytest.fail("it was computed"))
    with TestClient(app, base_url=HOST) as client:
        response = client.post(path, json=body)
    assert response.status_code == 413 and f"the response would take {size:,} bytes or more" in response.text


@pytest.mark.parametrize(
    ("limit", "inputs"), [("answers", MANY), ("requests", " " * 9000 + "cat"), ("bodies", " " * 70_000 + "cat")]
)
def test_what_all_requests_hold_is_bounded_and_others_may_come_again(limit, inputs, app_of):
    with TestClient(app_of(), base_url=HOST) as client:
        account = getattr(client.app.state.server.memory, limit)
        assert account.take(account.most - 10)
        response = client.post("/embed", json={"inputs": inputs})
        assert (response.status_code, response.headers["retry-after"]) == (429, "1")
        assert client.get("/health").status_code == 200
        account.give_back(account.most - 10)
        assert client.post("/embed", json={"inputs": inputs}).status_code == 200
        assert account.held == 0


def test_two_of_the_largest_bodies_have_room_and_no_account_is_overdrawn():
    account = Memory(Budget(bodies=3), 5).bodies
    assert [account.take(6), account.take(6), account.take(4)] == [True, False, True]
    account.give_back(6)
    assert account.held == 4


@pytest.mark.parametrize(
    ("body", "is_refused"),
    [
        (b'{"ids": [1,2,3]}', False),
        (b'{"ids": [%s]}' % b",".join([b"1"] * 12), True),
        (b'{"ids": [[]]}', True),
        (b'{"ids": {"a": {}}}', True),
        (b'{"inputs": "%s"}' % (b"a,b " * 30), False),
        (b'{"inputs": "%s"}' % (b"[{ " * 30), False),
        (b'{"inputs": "\\"%s"}' % (b'a,\\\\b\\", ' * 30), False),
        (b'{"inputs": [%s]}' % b",".join([b'","'] * 12), True),
        (b'{"inputs": [%s"' % (b'"",' * 40), True),
    ],
)
def test_values_of_json_are_counted_outside_of_texts(body, is_refused):
    try:
        check_values(body, 25)
    except ApiError as error:
        assert is_refused and error.kind.status == 413 and "25 values" in error.message
    else:
        assert not is_refused


@given(st.text('",[{}\\a', max_size=60).map(str.encode), st.sampled_from([1, 2, 3, 7]), st.integers(0, 40))
def test_values_are_counted_in_pieces_as_in_the_whole(body, piece, most):
    outside = re.sub(rb'"(\\.|[^"\\])*("|\\?$)|\\[\\"]', b"", body)
    values = outside.count(b",") + 10 * (outside.count(b"[") + outside.count(b"{"))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(ApiError) if values > most else nullcontext():
        patch.setattr(exchange, "VALUES_PIECE", piece)
        check_values(body, most)


def test_large_bodies_are_read_on_another_thread(app_of, monkeypatch):
    threads, decoded = [], endpoint.Endpoint._decoded

    def noted(route, body):
        threads.append(threading.current_thread().name)
        return decoded(route, body)

    monkeypatch.setattr(endpoint.Endpoint, "_decoded", noted)
    with TestClient(app_of(), base_url=HOST) as client:
        for ids in ([5, 6], [[5, 6] * 5_000] * 14):
            assert client.post("/decode", json={"ids": ids}).status_code == 200
    small, large = threads
    assert small != large


@pytest.mark.parametrize("path", ["/explain", "/dissect", "/embed_all"])
def test_tokens_are_counted_on_the_models_thread(path, app_of, served_models, monkeypatch):
    found, own = [], served_models[0].encode_report

    def noted(*args, **options):
        found.append(threading.current_thread().name)
        return own(*args, **options)

    monkeypatch.setattr(served_models[0], "encode_report", noted, raising=False)
    with TestClient(app_of(), base_url=HOST) as client:
        assert client.post(path, json=GOOD["POST", path]).status_code == 200
    assert {*found} == {"model tiny"}


def test_decode_runs_on_the_models_thread(app_of, monkeypatch):
    found = []
    monkeypatch.setattr(
        "likewise.serve.routes.tokens.json_bytes",
        lambda value: found.append(threading.current_thread().name) or json.dumps(value).encode(),
    )
    with TestClient(app_of(), base_url=HOST) as client:
        assert client.post("/decode", json={"ids": [5, 6]}).status_code == 200
    assert {*found} == {"model tiny"}


def test_no_more_is_decoded_once_the_answer_is_too_large(app_of, monkeypatch):
    written = []
    monkeypatch.setattr("likewise.serve.routes.tokens.CHARACTERS", 1)  # a list at a time
    monkeypatch.setattr("likewise.serve.routes.tokens.json_bytes", lambda text: written.append(text) or text.encode())
    with TestClient(app_of(budget=Budget(answer=5000)), base_url=HOST) as client:
        assert client.post("/decode", json={"ids": [[5, 6, 7] * 2000] * 9}).status_code == 413
    assert len(written) == 1


@pytest.mark.parametrize("budget", [Budget(pairs=10), Budget(layers=1000)])
def test_what_would_be_too_large_to_explain_is_refused(budget, app_of):
    with TestClient(app_of(budget=budget), base_url=HOST) as client:
        response = client.post("/explain", json={"first": "a cat sleeps", "second": "dogs bark at night"})
    assert response.status_code == 413
    assert "pairs of tokens" in response.json()["error"]["message"]


def test_an_explanation_may_be_as_large_as_the_bound_says(app_of, served_models):
    texts, model = ("a cat sleeps", "dogs bark at night"), served_models[0]
    first, second = (len(ids) + 2 for ids in model.tokenizer.token_ids(texts))
    layers = 8 * (first + second) * model.encoder.width * (model.encoder.depth + 1)
    statuses = []
    for limits in ((first * second, layers), (first * second - 1, layers), (first * second, layers - 1)):
        with TestClient(app_of(budget=Budget(pairs=limits[0], layers=limits[1])), base_url=HOST) as client:
            statuses.append(
                client.post("/explain", json=dict(zip(("first", "second"), texts, strict=True))).status_code
            )
    assert statuses == [200, 413, 413]


@pytest.mark.parametrize(("limit", "status"), [(4 * 3 + 1 + 2 + 3, 200), (4 * 3 + 1 + 2 + 3 - 1, 413)])
def test_a_query_that_is_read_with_each_document_is_bounded(limit, status, app_of):
    with TestClient(app_of(budget=Budget(characters=limit)), base_url=HOST) as client:
        response = client.post("/rerank", json={"query": "cats", "texts": ["a", "bb", "ccc"]})
    assert response.status_code == status
    assert (
        status == 200
        or f"18 characters in total (the query counts once per document); the limit is {limit}" in response.text
    )


@pytest.mark.parametrize("number", [-1.1754944e-38, -3.4028235e38, 0.1, -1 / 3, 1.0])
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_no_vector_takes_more_bytes_than_are_counted_for_it(number, count):
    rows = np.full((3, count), number, np.float32)
    assert len(json_bytes(rows)) <= 3 * json_bytes_of(count)
    assert json_bytes_of(count) <= 16 * count + 64


def test_texts_are_tokenized_some_characters_at_a_time():
    job = Job(["a" * 60, "b" * 60, "c", ("d" * 500, "e" * 500), [1] * 700, "f"])
    lengths = []
    while len(job.tokenized) < len(job.inputs):
        some = job.next_inputs(3, 100)
        job.tokenized += [COMPUTED] * len(some)
        lengths.append(len(some))
    assert lengths == [2, 2, 1, 1]


def test_tokens_of_what_was_computed_are_forgotten(app_of):
    with TestClient(app_of(), base_url=HOST) as client:
        jobs, add = [], Job.add_tokenized
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Job, "add_tokenized", lambda job, found: (jobs.append(job), add(job, found)))
            client.post("/embed", json={"inputs": MANY})
    assert len(jobs[-1].tokenized) == len(MANY)
    assert all(one is COMPUTED for one in jobs[-1].tokenized)


def test_whatever_a_request_waits_for_it_ends_by_its_deadline(app_of, monkeypatch):
    async def never(*_, **__):
        await asyncio.sleep(60)

    with TestClient(app_of(deadline=0.2), base_url=HOST) as client:
        monkeypatch.setattr("likewise.serve.model_store.ModelStore.load", never)
        began = time.perf_counter()
        response = client.post("/v1/embeddings", json={"input": "a cat"})
        assert (response.status_code, response.json()["error"]["code"]) == (504, "deadline_exceeded")
        assert time.perf_counter() - began < 20


def test_a_model_is_loaded_on_if_the_request_that_wanted_it_has_ended(app_of, served_models):
    count = []

    def load():
        count.append(1)
        time.sleep(0.5)
        return served_models[0]

    app = app_of(deadline=0.3)
    app.state.server.models.add("slow", "embedder", load)
    with TestClient(app, base_url=HOST) as client:
        assert client.post("/v1/embeddings", json={"input": "a", "model": "slow"}).status_code == 504
        assert client.post("/v1/embeddings", json={"input": "a", "model": "slow"}).status_code == 200
    assert len(count) == 1


def test_a_request_past_its_deadline_leaves_the_queue(app_of, served_models, monkeypatch):
    gate, compute = threading.Event(), EmbedderWork.compute

    def slow(work, contents):
        gate.wait(5)
        return compute(work, contents)

    monkeypatch.setattr(EmbedderWork, "compute", slow)
    with TestClient(app_of(deadline=0.2, batch_tokens=8), base_url=HOST) as client:
        assert client.post("/embed", json={"inputs": MANY}).status_code == 504
        gate.set()
        thread = next(iter(client.app.state.server.models)).thread
        wait_until(lambda: not thread.waiting_requests)
        assert (thread.waiting_requests, thread.waiting_inputs, len(thread._jobs)) == (0, 0, 0)


async def test_a_cancelled_request_is_logged_and_counted(app_of, capfd):
    app = app_of(log="all")
    endpoint_of = app._direct["POST", "/embed"]
    never = asyncio.Event()
    scope = {"type": "http", "method": "POST", "path": "/embed", "headers": [(b"host", b"localhost")]}
    task = asyncio.create_task(endpoint_of(scope, never.wait, None))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    app.state.server.log.flush()
    assert app.state.server.metrics.counters["te_request_failure"] == {'err="cancelled"': 1}
    (line,) = (json.loads(line) for line in capfd.readouterr().err.splitlines() if '"/embed"' in line)
    assert line["status"] == 499


async def test_who_goes_away_while_an_answer_is_sent_is_logged_and_counted(app_of, capfd):
    async with listening(app_of(log="all"), send_buffer=1 << 16) as (state, connect):
        reader, writer = await connect()
        reader._transport.pause_reading()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        writer.write(posted("/embed", {"inputs": ["a cat"] * 10_000}))
        await until(lambda: state.memory.answers.held > 0 and not state.models.named(None, "embedder").thread._jobs)
        await asyncio.sleep(0.05)
        writer.transport.abort()
        await until(lambda: state.memory.answers.held == 0 and state.metrics.counters["te_request_failure"])
        state.log.flush()
    assert state.metrics.counters["te_request_failure"] == {'err="client_gone"': 1}
    assert '"status":499' in capfd.readouterr().err


async def test_the_reason_is_read_by_a_client_that_goes_on_sending(app_of):
    async with listening(app_of(max_body=1000)) as (_, connect):
        reader, writer = await connect()
        writer.write(b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000000\r\n\r\n" + b" " * 3_000_000)
        assert b" 413 " in await asyncio.wait_for(reader.readline(), 5)
        answered = await asyncio.wait_for(reader.read(), 5)
        assert b"connection: close" in answered and b"1,000 bytes" in answered


async def test_a_body_that_nobody_reads_does_not_hold_the_connection(app_of):
    async with listening(app_of(budget=Budget(header_seconds=0.1))) as (_, connect):
        reader, writer = await connect()
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
        assert (await answer((reader, writer), b""))[0] == 200
        last = time.perf_counter() + 3
        while not reader.at_eof() and time.perf_counter() < last:
            writer.write(b" ")
            await asyncio.sleep(0.02)
        assert reader.at_eof()


@pytest.mark.parametrize("path", ["/models/tiny", "/srv/x.y-z/notes"])
def test_an_error_of_the_library_names_no_folder_of_the_server(path):
    error = BadInput(f"{path} holds nothing; expected {path}/config.json, see https://example.com/a/b/c")
    message = as_api_error(error).message
    assert "/models/" not in message and "/srv/" not in message
    assert path.rpartition("/")[2] in message
    assert message.endswith("https://example.com/a/b/c")


def test_pieces_are_joined_and_cut_to_one_size():
    sizes = (0, 1, AT_ONCE - 2, 3, 3 * AT_ONCE + 7, 2)
    body = b"".join(bytes([number]) * size for number, size in enumerate(sizes))
    pieces = endpoint.pieces_of(Pieces([bytes([number]) * size for number, size in enumerate(sizes)]))
    assert b"".join(pieces) == body
    assert [len(piece) for piece in pieces[:-1]] == [AT_ONCE] * (len(pieces) - 1)
