"""The parts of a request and of its answer: bodies as they arrive, what is counted of them, and JSON in pieces."""

import asyncio
import json
import time
from contextlib import nullcontext
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput, BadModel, ModelNotFound, TooLong
from likewise.serve.budget import Budget, Memory
from likewise.serve.routes.computing import places_by_score
from likewise.serve.routes.tokens import groups
from likewise.serve.web import endpoint
from likewise.serve.web import exchange as exchange_module
from likewise.serve.web.api_errors import ERROR_SHAPES, ApiError
from likewise.serve.web.bodies import shown
from likewise.serve.web.endpoint import as_api_error, error_reply
from likewise.serve.web.exchange import Exchange, Pieces, Reply, check_values, json_around, json_rows
from tests.serve.conftest import HOST, TestClient

KB = 1024


def exchange_of(*messages, length=None, memory=None):
    """A request whose body arrives in these messages."""
    sent = [*messages]

    async def receive():
        return sent.pop(0) if sent else await asyncio.sleep(60)

    headers = [] if length is None else [(b"content-length", str(length).encode())]
    server = SimpleNamespace(memory=memory or Memory(Budget(), 1), process_name="p")
    return Exchange({"headers": headers}, receive, server)


def part(body, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


def held(exchange):
    return exchange.server.memory.as_json()


def read(exchange, most=100_000, seconds=5.0):
    return asyncio.run(exchange.read_body(most, seconds))


@pytest.mark.parametrize(
    ("size", "account"),
    [(0, None), (8 * KB, None), (8 * KB + 1, "requests"), (64 * KB, "requests"), (64 * KB + 1, "bodies")],
)
def test_a_body_is_counted_by_its_size_until_the_request_ends(size, account):
    for messages in ([part(b"x" * size)], [part(b"x" * size, True), part(b"")]):
        exchange = exchange_of(*messages)
        assert read(exchange) == b"x" * size
        nothing = {"requests": 0, "bodies": 0, "answers": 0}
        assert held(exchange) == (nothing if account is None else {**nothing, account: size})
        exchange.release()
        exchange.release()
        assert held(exchange) == nothing


def test_a_body_in_parts_is_joined_and_what_arrives_is_counted():
    exchange = exchange_of(part(b"a" * 8 * KB, True), part(b"b" * KB, True), part(b"c" * 60 * KB))
    assert read(exchange) == b"a" * 8 * KB + b"b" * KB + b"c" * 60 * KB
    assert held(exchange) == {"requests": KB, "bodies": 60 * KB, "answers": 0}


@pytest.mark.parametrize(
    ("messages", "length", "kind"),
    [
        ([], 101, "body_too_large"),
        ([part(b"x" * 101)], None, "body_too_large"),
        ([part(b"x" * 100, True), part(b"x")], None, "body_too_large"),
        ([part(b"x" * 50, True), {"type": "http.disconnect"}], 100, "client_gone"),
        ([{"type": "http.disconnect"}], None, "client_gone"),
        ([part(b"x" * 50, True)], 100, "slow_body"),
    ],
)
def test_a_body_that_is_too_large_too_slow_or_not_complete_is_refused(messages, length, kind):
    with pytest.raises(ApiError) as refused:
        read(exchange_of(*messages, length=length), 100, 0.01)
    assert refused.value.name == kind
    assert read(exchange_of(part(b"x" * 100), length=100), 100) == b"x" * 100
    assert read(exchange_of(part(b"x" * 60, True), part(b"x" * 40), length="many"), 100) == b"x" * 100


def test_a_full_account_refuses_a_body_and_nothing_of_it_stays_counted():
    memory = Memory(Budget(requests=20 * KB), 1)
    first, second = (exchange_of(part(b"x" * 12 * KB), memory=memory) for _ in range(2))
    read(first)
    with pytest.raises(ApiError, match="requests already use all of their 20,480 bytes") as full:
        read(second)
    assert (full.value.name, full.value.retry_after, memory.requests.held) == ("overloaded", 1, 12 * KB)
    second.release()
    assert memory.requests.held == 12 * KB


def test_a_client_is_watched_once_and_a_stopping_server_shortens_the_time_of_every_request(monkeypatch):
    monkeypatch.setattr(endpoint, "LOOK_SECONDS", 0.001)
    deadlines, received = endpoint.Deadlines(), []

    async def never():
        received.append(None)
        await asyncio.sleep(60)

    async def run():
        first, second = exchange_of(), exchange_of()
        first.receive, first.awaited, first.began = never, asyncio.get_running_loop().create_future(), 0
        deadlines.begin(first)
        await asyncio.sleep(0.05)
        began = time.perf_counter()
        deadlines.stop(20)
        deadlines.begin(second)
        assert began + 20 <= first.ends == second.ends < began + 40
        deadlines.running.clear()
        await asyncio.sleep(0.05)
        assert not deadlines._is_looking

    asyncio.run(run())
    assert len(received) == 1


def test_an_answer_is_counted_as_expected_and_then_as_it_is():
    exchange = exchange_of(memory=Memory(Budget(answer=100 * KB, answers=150 * KB), 1))
    answers = exchange.server.memory.answers
    exchange.hold_answer(8 * KB)
    assert answers.held == 0, "small answers are not counted"
    exchange.hold_answer(1)
    assert answers.held == 8 * KB + 1
    exchange.hold_answer(32 * KB - 1)
    assert answers.held == 40 * KB
    exchange.settle_answer(20 * KB)
    assert answers.held == 20 * KB
    exchange.settle_answer(100 * KB)
    assert answers.held == 100 * KB
    with pytest.raises(
        ApiError, match="the response would take 102,401 bytes or more; this server sends at most 102,400"
    ):
        exchange.hold_answer(1)
    exchange.release()
    assert answers.held == 0


def test_ids_are_the_clients_or_numbered():
    scope = {"headers": [(b"x-request-id", b"a-Z0._" + b"9" * 122)]}
    server = SimpleNamespace(process_name="p")
    assert Exchange(scope, None, server).request_id == "a-Z0._" + "9" * 122
    scope["headers"] = [(b"x-request-id", b"9" * 129)]
    first, second = (Exchange(scope, None, server).request_id for _ in range(2))
    assert first.startswith("p-") and int(second[2:], 16) == int(first[2:], 16) + 1


@pytest.mark.parametrize(
    ("largest", "too_large"), [([1] * 11, [1] * 12), (["b,"] * 11, ["b,"] * 12), ([[]], [[], []]), ([{}], [{}, {}])]
)
def test_as_many_values_as_the_bound_says_may_be_in_a_body(largest, too_large):
    check_values(json.dumps(largest).encode(), 20)
    with pytest.raises(ApiError, match="more than 20 values"):
        check_values(json.dumps(too_large).encode(), 20)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"input": [{}]}', "input[0]: expected `int | str | array`; got `object`"),
        (b'{"input": []}', "input: expected `array` of length >= 1"),
        (b'{"input": "%s"}' % (b"a" * 500_001), "input: expected `str` of length <= 500000"),
        (b'{"input": "a", "dimensionz": 4}', "the body has the unknown field 'dimensionz'; did you mean dimensions?"),
        (b"{}", "input is missing"),
        (b'{"input": "a", "encoding_format": "x"}', "encoding_format: expected one of 'base64', 'bytes', 'float'"),
        (b"[]", "the body: expected `object`; got `array`"),
        (b'{"input": "a', "the body is not valid JSON: Input data was truncated"),
    ],
)
def test_a_large_body_is_parsed_once_and_its_error_is_the_same_without_the_value(body, message, app_of, monkeypatch):
    with TestClient(app_of(), base_url=HOST) as client:
        whole = client.post("/v1/embeddings", content=body)
        monkeypatch.setattr(endpoint, "MOST_DIAGNOSED", len(body) - 1)
        monkeypatch.delattr(exchange_module.orjson, "loads")
        found = client.post("/v1/embeddings", content=body)
    assert found.status_code == whole.status_code == 400
    ours, theirs = found.json()["error"], whole.json()["error"]
    assert ours["message"] == message and theirs["message"][:26] == message[:26]
    assert ours | {"message": ""} == theirs | {"message": ""}


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("width", [1, 3, 5, 12])
def test_rows_in_pieces_are_the_rows_as_json(rows, width, monkeypatch):
    monkeypatch.setattr(exchange_module, "NUMBERS_AT_A_TIME", 10)
    values = np.arange(rows * width, dtype=np.float32).reshape(rows, width)
    pieces = asyncio.run(json_rows(values, lambda i, row: [i, row]))
    assert json.loads(b"".join(pieces)) == [[i, row.tolist()] for i, row in enumerate(values)]
    most = max(1, 10 // width)
    assert max(piece.count(b".") for piece in pieces) <= most * width
    whole = json_around("rows", pieces, {"more": 1})
    assert json.loads(b"".join(whole)) == {"rows": [[i, row.tolist()] for i, row in enumerate(values)], "more": 1}


@given(sizes=st.lists(st.integers(0, 12), max_size=12), most=st.integers(1, 20))
def test_groups_hold_as_much_as_fits_in_order(sizes, most):
    found = [*groups([*enumerate(sizes)], sizes, most)]
    assert [one for group in found for one in group] == [*enumerate(sizes)]
    assert all(found) and all(len(group) == 1 or sum(size for _, size in group) <= most for group in found)
    assert all(sum(size for _, size in group) + after[0][1] > most for group, after in pairwise(found))


def test_the_highest_score_comes_first_and_ties_keep_their_order():
    assert places_by_score(np.array([0.1, 0.5, 0.1, 0.5, -1.0])) == [1, 3, 0, 2, 4]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a" * 40, repr("a" * 40)),
        ("a" * 1041, f"{'a' * 40!r}… (1,041 characters)"),
        ([0] * 1000, "a list of length 1,000"),
        ({}, "an object"),
        (None, "null"),
        (True, "true"),
        (1e99, "1e+99"),
        (10**60, "1" + "0" * 39),
    ],
)
def test_values_are_shown_in_short(value, said):
    assert shown(value) == said


@pytest.mark.parametrize(
    ("kind", "seconds", "headers"),
    [
        ("overloaded", 0.0, {b"retry-after": b"1"}),
        ("overloaded", 1.0, {b"retry-after": b"1"}),
        ("rate_limit", 1.01, {b"retry-after": b"2"}),
        ("overloaded", None, {}),
        ("unauthorized", None, {b"www-authenticate": b"Bearer"}),
        ("body_too_large", None, {b"connection": b"close"}),
        ("slow_body", None, {b"connection": b"close"}),
        ("invalid", None, {}),
    ],
)
def test_an_error_says_in_its_headers_what_to_do(kind, seconds, headers):
    reply = error_reply(ApiError(kind, "no", retry_after=seconds), ERROR_SHAPES["tei"])
    assert dict(reply.headers) == headers and reply.status == ERROR_SHAPES["tei"].status(kind)
    assert json.loads(b"".join(reply.body))["error"] == "no"


@pytest.mark.parametrize("was_cut", [False, True])
def test_an_answer_whose_end_is_not_read_is_an_error(was_cut):
    async def nothing(*_):
        await asyncio.sleep(0)

    server = SimpleNamespace(admission=SimpleNamespace(cors_headers=lambda _: ()))
    flow = SimpleNamespace(write_paused=True, drain=nothing)
    connection = SimpleNamespace(flow=flow, was_cut=was_cut)
    exchange = SimpleNamespace(request_id="1", server=server, connection=connection, has_begun=False)
    begun = []  # from then on, an error cannot replace the answer

    async def send(message):
        begun.append((message["type"], exchange.has_begun))

    with pytest.raises(ConnectionError, match="not read the whole response") if was_cut else nullcontext():
        asyncio.run(endpoint.send_reply(exchange, Reply(Pieces([b"a"])), send))
    assert begun == [("http.response.start", True), ("http.response.body", True)]


@pytest.mark.parametrize(
    ("error", "kind", "message", "param"),
    [
        (ApiError("host", "no", param="x"), "host", "no", "x"),
        (ModelNotFound("no /srv/models/mine"), "model_not_found", "no mine", "model"),
        (TooLong("too long"), "too_long", "too long", None),
        (BadInput("not this"), "invalid", "not this", None),
        (
            BadModel("/srv/secret"),
            "internal",
            "the model failed on this request; for details, see the server's log",
            None,
        ),
        (MemoryError("/srv/secret"), "internal", "the model failed on this request; for details", None),
        (ValueError("/srv/secret"), "internal", "an internal error; for details, see the server's log", None),
    ],
)
def test_errors_of_the_library_are_told_and_others_are_for_the_log(error, kind, message, param):
    found = as_api_error(error)
    assert (found.name, found.param) == (kind, param) and found.message.startswith(message)


@pytest.mark.parametrize(
    ("query", "status", "about"),
    [
        ("layout=pca&limit=2", 200, ""),
        ("limit=2.0&layout=pca", 200, ""),
        ("layout=", 400, "layout"),
        ("limit=0", 400, "`int` >= 1; got '0'"),
        ("limit=50001", 400, "limit: expected `int` <= 50000"),
        ("limit=two", 400, "limit"),
        ("colour=red", 400, "unknown field 'colour'"),
        ("layout=%ff", 400, "the query string is not valid UTF-8"),
        ("layout=\xff", 400, ""),
    ],
)
def test_a_query_string_is_checked_as_a_body_is(query, status, about, client, monkeypatch):
    async def empty(*_):
        return {}

    monkeypatch.setattr("likewise.serve.map_process.map_in_process", empty)
    response = client.get(f"/v1/collections/notes/map?{query}")
    assert response.status_code == status and about in response.json().get("error", {"message": ""})["message"]


def test_a_body_with_more_values_than_the_bound_is_refused(app_of):
    with TestClient(app_of(budget=Budget(values=30)), base_url=HOST) as client:
        bodies = [{"ids": ids} for ids in ([5] * 11, [5] * 12, [[], []])]
        statuses = [client.post("/decode", json=body).status_code for body in bodies]
    assert statuses == [200, 413, 413]


@pytest.mark.parametrize(("most", "status"), [(29, 413), (30, 422)])
def test_nested_lists_are_counted_however_short_the_body_is(most, status, app_of):
    with TestClient(app_of(budget=Budget(values=most)), base_url=HOST) as client:
        assert client.post("/decode", content=b"[[[]]]").status_code == status
