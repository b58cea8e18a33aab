"""Who is let in: hosts, origins, keys and rates."""

import hashlib
import json
import re
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette")
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from likewise.errors import BadInput
from likewise.runtime.writer_lock import WriterLock
from likewise.serve import ServeSettings, api_keys
from likewise.serve.admission import RateLimits
from likewise.serve.api_keys import KeyRing, add_key, read_keys, remove_key
from likewise.serve.application import api_routes
from likewise.serve.run_server import check_access
from tests.serve.conftest import HOST
from tests.serve.requests_by_route import path_of


@pytest.fixture
def keys(tmp_path):
    return tmp_path / "folder" / "keys.json"


def asked(client, **headers):
    return client.post("/embed", json={"inputs": "a cat"}, headers=headers)


def test_a_key_is_stored_as_a_hash_that_others_cannot_read(keys):
    secret = add_key(keys, "alice", rate=0.5)
    assert re.fullmatch(r"lw-[\w-]{43}", secret), "256 bits, six for each character"
    alice = {"name": "alice", "sha256": hashlib.sha256(secret.encode()).hexdigest(), "rate": 0.5}
    assert keys.read_text() == json.dumps({"keys": [alice]}, indent=2) + "\n"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert KeyRing(keys).of(secret).name == "alice"
    assert KeyRing(keys).of(secret + "x") is None


def test_keys_have_names_of_their_own_and_can_be_removed(keys):
    secret, other = add_key(keys, "alice"), add_key(keys, "bob", rate=60)
    with pytest.raises(BadInput, match="already"):
        add_key(keys, "alice")
    remove_key(keys, "alice")
    with pytest.raises(BadInput, match="existing keys: bob"):
        remove_key(keys, "alice")
    ring = KeyRing(keys)
    assert (ring.of(secret), ring.of(other).name) == (None, "bob")


def test_keys_that_are_changed_at_once_are_all_changed(tmp_path, monkeypatch):
    keys, read = tmp_path / "keys.json", api_keys.read_keys
    add_key(keys, "old")
    monkeypatch.setattr(api_keys, "read_keys", lambda file: (read(file), time.sleep(0.02))[0])
    changes = [partial(add_key, keys, f"new{i}") for i in range(6)] + [partial(remove_key, keys, "old")]
    with ThreadPoolExecutor(len(changes)) as threads:
        [done.result() for done in [threads.submit(change) for change in changes]]
    assert {key.name for key in read(keys)} == {f"new{i}" for i in range(6)}
    assert [path.name for path in tmp_path.iterdir()] == ["keys.json"]


def test_keys_that_another_process_keeps_locked_are_not_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(api_keys, "PATIENCE", 0.05)
    lock = WriterLock(tmp_path)
    with pytest.raises(BadInput, match="only one can write at a time"):
        add_key(tmp_path / "keys.json", "alice")
    lock.release()
    add_key(tmp_path / "keys.json", "alice")


HASH = "0" * 64


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "text",
    [
        *("[]", "{}", '{"keys": 3}', '{"keys": [{"name": "a"}]}', '{"keys": [3]}'),
        '{"keys": [{"name": "a", "sha256": null}]}',
        *(f'{{"keys": [{{"name": "a", "sha256": "{digits}"}}]}}' for digits in (HASH[1:], f"{HASH}0", f"g{HASH[1:]}")),
        f'{{"keys": [{{"name": 3, "sha256": "{HASH}"}}]}}',
        *(f'{{"keys": [{{"name": "a", "sha256": "{HASH}", "rate": {rate}}}]}}' for rate in ("0", "-1", "1e999", '"5"')),
    ],
)
def test_a_file_that_holds_no_keys_is_refused(text, keys):
    keys.parent.mkdir()
    keys.write_text(text)
    with pytest.raises(ValueError):
        read_keys(keys)


def test_a_running_server_notices_changed_keys(keys, monkeypatch):
    secret = add_key(keys, "alice")
    ring = KeyRing(keys)
    monkeypatch.setattr("likewise.serve.api_keys.READ_SECONDS", -1)
    remove_key(keys, "alice")
    assert ring.of(secret) is None
    keys.write_text("half a f")
    assert ring.of(secret) is None


def test_changed_keys_are_read_once_they_are_more_than_a_second_old(keys, monkeypatch):
    secret, clock, reads = add_key(keys, "alice"), [100.0], []
    monkeypatch.setattr(api_keys, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(api_keys, "read_keys", lambda file: reads.append(clock[0]) or read_keys(file))
    ring = KeyRing(keys)
    for clock[0] in (100.5, 101, 101.5, 102, 102.5, 103):
        assert ring.of(secret) is not None
    assert reads == [100, 101.5, 103]


def test_only_those_with_a_key_are_answered(app_of, keys):
    secret = add_key(keys, "alice")
    with TestClient(app_of(keys=keys), base_url="http://anywhere") as client:
        assert client.get("/health").status_code == 200
        for headers, told in (
            ({}, "an API key is required"),
            ({"Authorization": f"Basic {secret}"}, "the API key is unknown"),
            ({"Authorization": "Bearer lw-wrong"}, "the API key is unknown"),
        ):
            refused = asked(client, **headers)
            assert refused.status_code == 401 and told in refused.text
            assert refused.headers["www-authenticate"] == "Bearer"
        assert asked(client, Authorization=f"Bearer {secret}").status_code == 200


def test_without_a_key_these_routes_are_answered_and_no_others(app_of, keys):
    add_key(keys, "alice")
    with TestClient(app_of(keys=keys), base_url=HOST) as client:
        answered = {
            f"{route.method} {route.path}"
            for route in api_routes(ServeSettings())
            if client.request(route.method, path_of(route)).status_code != 401
        }
    assert answered == {"GET /", "GET /page/{path:path}", "GET /health", "GET /ping", "GET /openapi.json"}


def test_a_key_has_its_rate(app_of, keys):
    secret = add_key(keys, "alice", rate=6)
    with TestClient(app_of(keys=keys), base_url=HOST) as client:
        statuses = [asked(client, Authorization=f"Bearer {secret}") for _ in range(2)]
    assert [one.status_code for one in statuses] == [200, 429]
    assert 1 <= int(statuses[1].headers["retry-after"]) <= 10


def test_each_of_several_workers_grants_its_part_of_the_rate(app_of, keys):
    secret = add_key(keys, "alice", rate=60)
    granted = {}
    for workers in (1, 2):
        with TestClient(app_of(keys=keys, workers=workers), base_url=HOST) as client:
            answers = [asked(client, Authorization=f"Bearer {secret}") for _ in range(11)]
            granted[workers] = [one.status_code for one in answers].index(429)
            share = {1: '60 requests per minute"', 2: '30 requests per minute to each of 2 processes"'}[workers]
            assert f"this key may send {share}" in answers[-1].text
    assert granted == {1: 10, 2: 5}


@given(rate=st.floats(1, 6000), steps=st.lists(st.floats(0, 30), min_size=1, max_size=60))
def test_no_key_ever_has_more_than_its_rate_and_a_burst(rate, steps):
    limits, now, granted = RateLimits(), 0.0, 0
    for step in steps:
        now += step
        granted += limits.wait("a", rate, now) == 0
    assert granted <= max(1.0, rate / 6) + now * rate / 60 + 1e-6


@given(rate=st.floats(1, 120), asked=st.integers(1, 30))
def test_who_waits_as_long_as_told_is_let_in_and_who_waits_shorter_is_not(rate, asked):
    limits, now = RateLimits(), 0.0
    for _ in range(asked):
        seconds = limits.wait("a", rate, now)
        if seconds:
            assert limits.wait("a", rate, now + 0.99 * seconds) > 0
            now += 1.000001 * seconds
            assert limits.wait("a", rate, now) == 0


def test_a_key_may_send_a_burst_and_then_waits_for_as_long_as_its_rate_says():
    limits = RateLimits()
    assert [limits.wait("a", 60, 5.0) for _ in range(12)] == [0] * 10 + [1, 1]
    assert (limits.wait("a", 60, 5.75), limits.wait("a", 60, 6.0), limits.wait("b", 6, 6.0)) == (0.25, 0, 0)
    assert limits.wait("b", 6, 6.0) == 10


def test_the_log_has_the_name_of_a_requests_key(app_of, keys, capsys):
    secret = add_key(keys, "alice")
    with TestClient(app_of(keys=keys, log="all"), base_url=HOST) as client:
        asked(client, Authorization=f"Bearer {secret}")
    (line,) = (json.loads(line) for line in capsys.readouterr().err.splitlines() if '"/embed"' in line)
    assert (line["key"], line["status"]) == ("alice", 200)


def test_without_keys_other_hosts_are_not_answered(app_of):
    with TestClient(app_of(allowed_hosts=("mine",)), base_url=HOST) as client:
        assert asked(client, Host="evil.example").status_code == 421
        for host in ("127.0.0.1:80", "localhost:8080", "mine", "[::1]:3"):
            assert asked(client, Host=host).status_code == 200, host


def test_pages_of_other_origins_are_refused_unless_named(app_of):
    with TestClient(app_of(allowed_origins=("https://mine.example",)), base_url=HOST) as client:
        refused, same, named = (
            asked(client, Origin=origin) for origin in ("https://evil.example", HOST, "https://mine.example")
        )
        assert (refused.status_code, same.status_code, named.status_code) == (403, 200, 200)
        assert "access-control-allow-origin" not in {**refused.headers, **same.headers}
        assert named.headers["access-control-allow-origin"] == "https://mine.example"
        assert named.headers["access-control-expose-headers"] == "*"
        wanted = {"Access-Control-Request-Headers": "authorization,x-stainless-os"}
        for origin, status in (("https://mine.example", 204), ("https://evil.example", 403)):
            preflight = client.options("/embed", headers={"Origin": origin, **wanted})
            assert preflight.status_code == status
            assert ("x-stainless-os" in preflight.headers.get("access-control-allow-headers", "")) == (status == 204)


@pytest.mark.parametrize("given", [b"a b", b"", b"x" * 200, b"\xc3\xa9", b"<script>"])
def test_an_id_that_is_no_plain_word_is_replaced(given, app_of):
    with TestClient(app_of(), base_url=HOST) as client:
        response = client.get("/health", headers={b"X-Request-Id": given})
    assert response.headers["x-request-id"] not in (given.decode("latin-1"), "")


def test_a_server_that_others_reach_needs_keys_unless_told(keys):
    check_access(ServeSettings(), False)
    with pytest.raises(BadInput, match="keys add"):
        check_access(ServeSettings(host="0.0.0.0"), False)
    check_access(ServeSettings(host="0.0.0.0"), True)
    with pytest.raises(BadInput, match="has no keys"):
        check_access(ServeSettings(keys=keys), False)
    add_key(keys, "alice")
    check_access(ServeSettings(host="0.0.0.0", keys=keys), False)


def test_errors_of_the_server_say_nothing_of_its_inside(app_of, capsys):
    app = app_of(log="errors")
    with TestClient(app, base_url=HOST) as client:
        served = next(iter(app.state.server.models))
        served.thread.work.compute = lambda contents: 1 / 0
        response = asked(client)
    assert response.status_code == 500
    assert not {"ZeroDivisionError", "Traceback", ".py"} & {*response.text.split()}
    line = json.loads(capsys.readouterr().err.strip().splitlines()[-1])
    assert "ZeroDivisionError" in line["traceback"]
    assert line["request"] == response.headers["x-request-id"]


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//[", "null", "", "\x7f"])
def test_an_origin_that_is_none_is_forbidden(origin, app_of):
    with TestClient(app_of(), base_url=HOST) as client:
        response = asked(client, Origin=origin)
        assert (response.status_code, response.json()["error_type"]) == (403, "Forbidden")
        assert client.options("/embed", headers={"Origin": origin}).status_code == 403


def test_a_server_that_stops_is_unhealthy(app_of):
    app = app_of()
    with TestClient(app, base_url=HOST) as client:
        assert client.get("/health").status_code == 200
        app.state.server.is_stopping = True
        answer = client.get("/health")
        assert answer.status_code == 503 and "the server is stopping" in answer.text
