"""The Python client: the same vectors as in Python, batches, and patience with a busy server."""

import json
import socket
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("uvicorn")

from likewise import Embedder
from likewise.errors import BadInput, ServerUnavailable
from likewise.serve.client import Client, _Answer
from tests.serve.running_server import running_server

TEXTS = ["A cat sleeps.", "A kitten naps.", "Shares fell."]


@pytest.fixture(scope="module")
def client():
    with running_server("likewise-static", "--log", "off") as server, Client(server.url) as client:
        yield client


@pytest.mark.parametrize("batch", [1, 2, 500])
def test_vectors_are_those_of_encode_in_any_batches(batch, client):
    expected = Embedder.load("likewise-static").encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(client.embed(TEXTS, batch=batch), expected, atol=1e-6)


def test_no_texts_are_no_vectors(client):
    assert len(client.embed([])) == 0


def test_what_the_server_refuses_is_a_bad_input_in_its_words(client):
    with pytest.raises(BadInput, match="dimensions: expected at most"):
        client.embed(TEXTS, dimensions=5000)
    with pytest.raises(BadInput, match="no reranker"):
        client.rerank("a", ["b"])


def test_truncation_is_a_warning_or_an_error(client):
    long = ["cat " * 5000]
    with pytest.warns(UserWarning, match="1 text was truncated"):
        client.embed(long)
    with pytest.raises(BadInput, match="reads"):
        client.embed(long, truncate=False)


PLAIN = {"model": None, "prompt_name": None, "dimensions": None, "truncate": True, "encoding_format": "bytes"}
FOUND = {"matrix": [[1.0]], "results": [{"index": 1, "relevance_score": 0.5}], "passages": [{"id": "a"}]}
SEARCHED = {"query": "a", "k": 10, "filter": None, "collection": None, "hybrid": False, "rerank": None}


@pytest.mark.parametrize(
    ("call", "path", "body", "result"),
    [
        (lambda client: client.similarity(["a"]), "/similarity", {"texts": ["a"], "model": None}, [[1.0]]),
        (
            lambda client: client.rerank("a", ["b"]),
            "/v1/rerank",
            {"query": "a", "documents": ["b"], "top_n": None, "model": None},
            [(1, 0.5)],
        ),
        (lambda client: client.search("a"), "/v1/search", SEARCHED, [{"id": "a"}]),
    ],
)
def test_what_is_not_named_is_asked_for_as_the_server_has_it(call, path, body, result, monkeypatch):
    sent = []
    answer = _Answer(200, {}, json.dumps(FOUND).encode())
    monkeypatch.setattr(Client, "_send", lambda _, *request: sent.append(request) or answer)
    found = call(Client())
    assert (found.tolist() if isinstance(found, np.ndarray) else found) == result
    ((asked, data),) = sent
    assert (asked, json.loads(data)) == (path, body)


def test_500_texts_are_sent_at_a_time(monkeypatch):
    sent = []

    def answered(_, path, data):
        sent.append((path, json.loads(data)))
        count = len(sent[-1][1]["input"])
        headers = {"x-embedding-shape": f"{count},2", "x-truncated-inputs": "0"}
        return _Answer(200, headers, np.full((count, 2), len(sent), "<f4").tobytes())

    monkeypatch.setattr(Client, "_send", answered)
    texts = [str(number) for number in range(501)]
    assert Client().embed(texts).tolist() == [[1, 1]] * 500 + [[2, 2]]
    assert sent == [("/v1/embeddings", {"input": part, **PLAIN}) for part in (texts[:500], texts[500:])]
    assert Client().embed([]).shape == (0, 0)


@pytest.mark.parametrize("status", [299, 300, 399, 400, 428, 429, 430, 500, 501, 502, 503, 504, 505])
def test_a_status_is_an_answer_a_redirection_a_refusal_or_a_reason_to_try_again(status, monkeypatch):
    tried = []
    monkeypatch.setattr("likewise.serve.client.time.sleep", tried.append)
    monkeypatch.setattr(Client, "_send", lambda *_: _Answer(status, {"location": "http://b"}, b'{"matrix": [[1]]}'))
    if status == 299:
        assert Client().similarity(["a"]).tolist() == [[1]]
    else:
        again = status in (429, 502, 503, 504)
        message = (
            {True: f"answers {status}", False: f"status {status}"}[again] if status >= 400 else "redirects to http://b"
        )
        with pytest.raises(ServerUnavailable if again else BadInput, match=message):
            Client(attempts=2).similarity(["a"])
        assert len(tried) == again


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "too long"}}', "too long"),
        (b'{"error": "too long", "error_type": "x"}', "too long"),
        (b'{"message": "too long"}', "too long"),
        (b"{}", ""),
        (b"[1]", "[1]"),
        (b'{"error": {}}', '{"error": {}}'),
        (b"\xff" + b"a" * 300, "\ufffd" + "a" * 199),
    ],
)
def test_a_refusal_is_read_in_the_form_of_each_api(body, message):
    assert _Answer(400, {}, body).message == message


def test_a_path_of_the_address_stands_before_every_route_and_a_closed_client_has_no_connection(monkeypatch):
    asked = []
    with Client("http://127.0.0.1:1/a/b/", key="lw-x") as client:
        monkeypatch.setattr(client._connection, "request", lambda *request: asked.append(request))
        answer = SimpleNamespace(read=lambda: b"{}", status=200, getheaders=lambda: [("X-A", "b")])
        monkeypatch.setattr(client._connection, "getresponse", lambda: answer)
        assert client._send("/embed", b"data") == (200, {"x-a": "b"}, b"{}")
        client._connection.sock = SimpleNamespace(close=lambda: asked.append("closed"))
    headers = {"Content-Type": "application/json", "Authorization": "Bearer lw-x"}
    assert asked == [("POST", "/a/b/embed", b"data", headers), "closed"]


LOST = [{"index": 0, "tokens": 9, "used": 5}]


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda client: client.similarity(["a"]), {"matrix": [[1.0]], "truncated": LOST * 2}),
        (lambda client: client.rerank("a", ["b"]), {"results": [], "truncated": LOST * 2}),
        (lambda client: client.search("a"), {"passages": [], "truncated": LOST, "reranked": {"truncated": LOST}}),
    ],
)
def test_truncation_is_a_warning_in_each_method(call, answer, monkeypatch):
    monkeypatch.setattr(Client, "_send", lambda *_: _Answer(200, {}, json.dumps(answer).encode()))
    with pytest.warns(UserWarning, match="2 inputs were truncated"):
        call(Client())


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("cat", "is a single str; expected a list"),
        ([1, 2, 3], r"\[0\] is 1 \(int\); expected a str"),
        (["a", [101]], r"\[1\] is \[101\]"),
        (["a", None], "expected a str"),
    ],
)
def test_what_is_no_list_of_texts_is_refused_before_it_is_sent(given, words):
    for name, call in (("texts", Client().embed), ("texts", Client().similarity)):
        with pytest.raises(BadInput, match=f"{name}.*{words}"):
            call(given)
    with pytest.raises(BadInput, match=f"documents.*{words}"):
        Client().rerank("a", given)


def test_a_redirect_is_refused_with_its_address(monkeypatch):
    monkeypatch.setattr(Client, "_send", lambda *_: _Answer(308, {"location": "https://other/"}, b""))
    for call in (Client().embed, Client().similarity):
        with pytest.raises(BadInput, match=r"redirects to https://other/ \(status 308\)"):
            call(["a"])


@pytest.mark.usefixtures("unchecked")
def test_a_key_may_end_with_a_newline_and_is_never_shown():
    assert Client(key="lw-abc\n")._headers["Authorization"] == "Bearer lw-abc"
    for key in ("lw-a\nb", "lw-é"):
        with pytest.raises(BadInput, match="likewise serve keys add") as error:
            Client(key=key)
        assert "lw-" not in str(error.value)
    with pytest.raises(BadInput, match="key is a bytes; expected a str"):
        Client(key=b"lw-abc")


def test_a_busy_server_is_asked_again(monkeypatch):
    waits, statuses = [], [429, 503, 200, *[503] * 5, 422]
    body = b'{"matrix": [[1.0]], "error": {"message": "busy"}}'
    monkeypatch.setattr("likewise.serve.client.time.sleep", waits.append)
    monkeypatch.setattr(Client, "_send", lambda *_: _Answer(statuses.pop(0), {}, body))
    assert Client().similarity(["a"]).tolist() == [[1.0]]
    assert len(waits) == 2
    with pytest.raises(ServerUnavailable, match="busy"):
        Client().similarity(["a"])
    with pytest.raises(BadInput):
        Client().similarity(["a"])


@pytest.mark.parametrize(
    ("retry_after", "waits"),
    [
        (None, [0.1, 0.2, 0.4, 0.8]),
        ("0", [0.1, 0.2, 0.4, 0.8]),
        ("Wed, 21 Oct 2026 07:28:00 GMT", [0.1, 0.2, 0.4, 0.8]),
        ("7", [7, 7, 7, 7]),
        ("86400", [30, 30, 30, 30]),
    ],
)
@pytest.mark.parametrize(("pick", "share"), [(min, 0.5), (max, 1.5)])
def test_waits_double_at_random_and_are_as_long_as_the_server_says_up_to_a_bound(
    retry_after, waits, pick, share, monkeypatch
):
    waited = []
    monkeypatch.setattr("likewise.serve.client.time.sleep", waited.append)
    monkeypatch.setattr("likewise.serve.client.random.uniform", pick)
    headers = {} if retry_after is None else {"retry-after": retry_after}
    monkeypatch.setattr(Client, "_send", lambda *_: _Answer(503, headers, b"busy"))
    with pytest.raises(ServerUnavailable, match="after 5 attempts"):
        Client().similarity(["a"])
    assert waited == pytest.approx([wait * share if wait < 1 else wait for wait in waits])


def test_a_server_that_is_away_is_reported(monkeypatch):
    monkeypatch.setattr("likewise.serve.client.time.sleep", lambda _: None)
    with pytest.raises(ServerUnavailable, match="cannot be reached"):
        Client("http://127.0.0.1:9", attempts=2).similarity(["a"])


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_answer_is_awaited_for_a_minute_or_as_long_as_asked(scheme):
    assert Client(f"{scheme}://127.0.0.1")._connection.timeout == 60
    assert Client(f"{scheme}://127.0.0.1", timeout=1.5)._connection.timeout == 1.5


def test_a_server_that_never_answers_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Client(url, timeout=0.1, attempts=1) as client, pytest.raises(ServerUnavailable, match="timed out"):
            client.similarity(["a"])


@pytest.mark.parametrize(
    "url",
    [
        "localhost",
        "ftp://a",
        "http://",
        "http://a:b",
        "http://a:99999",
        "http://[",
        "http://a/?b=c",
        "http://a/#b",
        "http://a:0",
        b"http://a",
        None,
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(BadInput):
        Client(url)


@pytest.mark.parametrize("url", ["http://u:secret@a", "u:secret@a", "http://u:secret/@a", "ftp://u:secret@["])
def test_a_password_in_an_address_is_refused_and_not_shown(url):
    with pytest.raises(
        BadInput, match="url contains a user name or password; pass an API key as key= instead"
    ) as error:
        Client(url)
    assert "secret" not in str(error.value)
