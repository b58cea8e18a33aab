"""The pieces of a server's process: its socket, its end, its limit of open files and the lines of its log."""

import asyncio
import json
import logging
import os
import signal
import socket
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

pytest.importorskip("uvicorn")

import uvicorn
from starlette.testclient import TestClient

from likewise.errors import BadInput, LikewiseError
from likewise.serve import ServeSettings, create_app, run_server
from likewise.serve.observe import RequestLog
from likewise.serve.run_server import UvicornLog, bound_socket, collections_found, end_surely, refuse_connections


def test_a_socket_listens_where_the_settings_say_unless_another_does():
    with bound_socket(ServeSettings(port=0)) as listening:
        host, port = listening.getsockname()
        assert host == "127.0.0.1" and listening.family == socket.AF_INET
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR), "a restarted server need not wait"
        socket.create_connection((host, port), timeout=5).close()
        with pytest.raises(BadInput, match=f"cannot listen on 127.0.0.1:{port}: "):
            bound_socket(ServeSettings(port=port))


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_a_socket_may_have_an_address_of_the_sixth_version():
    try:
        listening = bound_socket(ServeSettings(host="::1", port=0))
    except BadInput:
        pytest.skip("no IPv6 here")
    with listening:
        assert listening.family == socket.AF_INET6


def test_uvicorn_closes_idle_connections_after_half_a_minute_and_a_signal_reloads_the_models(monkeypatch):
    calls, server = {}, SimpleNamespace(run=lambda sockets: None)
    monkeypatch.setattr(run_server, "_Server", lambda *given: calls.update(server=given) or server)
    for module, name in (("sys", "setswitchinterval"), ("signal", "signal"), ("logging.Logger", "addHandler")):
        monkeypatch.setattr(f"{module}.{name}", lambda *given, name=name: calls.update({name: given}))
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    run_server.run_on(None, [], [], None, ServeSettings(drain_seconds=7, max_connections=20))
    assert calls["setswitchinterval"] == (0.0001,) and os.environ["TOKENIZERS_PARALLELISM"] == "false"
    found, app, is_shared = calls["server"]
    assert found.http.keywords == {"most_connections": 20, "memory": app.state.server.memory} and not is_shared
    number, reload = calls["signal"]
    monkeypatch.setattr(app.state.server, "reload_soon", lambda: calls.update(reloaded=True))
    reload(number, None)
    assert number == signal.SIGHUP and calls["reloaded"]
    assert (found.timeout_keep_alive, found.timeout_graceful_shutdown, found.lifespan) == (30, 7, "on")
    assert (found.access_log, found.proxy_headers, found.server_header, found.date_header) == (False,) * 4


@pytest.mark.parametrize(
    ("is_stopped", "failure", "raised"),
    [(True, None, None), (False, None, KeyError), (False, BadInput("no model"), BadInput)],
)
def test_the_signal_that_stops_a_server_is_no_error_and_the_cause_of_a_failed_start_is(
    is_stopped, failure, raised, monkeypatch
):
    def run(sockets):
        raise KeyError

    monkeypatch.setattr(run_server, "_Server", lambda *_: SimpleNamespace(run=run, should_exit=is_stopped))
    app = SimpleNamespace(state=SimpleNamespace(server=SimpleNamespace(memory=None, log=None), failure=failure))
    monkeypatch.setattr(run_server, "create_app", lambda *_, **__: app)
    for module, name in (("sys", "setswitchinterval"), ("signal", "signal"), ("logging.Logger", "addHandler")):
        monkeypatch.setattr(f"{module}.{name}", lambda *_: None)
    with nullcontext() if raised is None else pytest.raises(raised):
        run_server.run_on(None, [], [], None, ServeSettings())


def test_an_application_does_not_start_without_its_model(tmp_path):
    app = create_app([str(tmp_path / "absent")])
    with pytest.raises(LikewiseError, match="absent") as caught, TestClient(app):
        pytest.fail("it has started")
    assert app.state.failure is caught.value


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_stopping_server_takes_no_new_connections_unless_others_share_its_socket(is_shared, monkeypatch):
    async def nothing(*_):
        await asyncio.sleep(0)

    refused, stopped = [], []
    monkeypatch.setattr(run_server, "refuse_connections", refused.append)
    monkeypatch.setattr(uvicorn.Server, "shutdown", nothing)
    state = SimpleNamespace(settings=ServeSettings(), deadlines=SimpleNamespace(stop=stopped.append))
    app = SimpleNamespace(state=SimpleNamespace(server=state))
    server = run_server._Server(uvicorn.Config(app), app, is_shared)
    asyncio.run(server.shutdown(["socket"]))
    assert refused == ["socket"] * (not is_shared) and stopped == [29.9]


def test_the_parents_socket_refuses_connections_before_it_is_closed(monkeypatch):
    calls = []
    monkeypatch.setattr(run_server, "refuse_connections", lambda listening: calls.append("refuse"))
    run_server.stop_listening(SimpleNamespace(close=lambda: calls.append("close")))
    assert calls == ["refuse", "close"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a filter of Linux's kernel")
def test_a_socket_that_refuses_connections_still_serves_those_that_it_has():
    with bound_socket(ServeSettings(port=0)) as listening:
        address = listening.getsockname()
        with socket.create_connection(address, timeout=5) as queued:
            refuse_connections(listening)
            with pytest.raises(TimeoutError):
                socket.create_connection(address, timeout=0.1)
            queued.sendall(b"asked")
            listening.settimeout(5)
            accepted, _ = listening.accept()
            with accepted:
                accepted.settimeout(5)
                assert accepted.recv(10) == b"asked"
                accepted.sendall(b"answered")
                assert queued.recv(10) == b"answered"


def test_a_stopping_process_ends_within_two_seconds_of_its_time_with_a_line_and_then_without(monkeypatch, capsys):
    timers, traces, exits = [], [], []
    timer = SimpleNamespace(daemon=False, start=lambda: timers.append("started"))
    monkeypatch.setattr(run_server.threading, "Timer", lambda *how: timers.append(how) or timer)
    monkeypatch.setattr(
        run_server.faulthandler, "dump_traceback_later", lambda *how, **more: traces.append((*how, more))
    )
    monkeypatch.setattr(run_server.os, "_exit", exits.append)
    end_surely(30, RequestLog())
    ((seconds, end), started) = timers
    ((surely, more),) = traces
    assert 30 < seconds < surely < 32 and timer.daemon and started == "started" and more == {"exit": True}
    end()
    assert exits == [1]
    line = json.loads(capsys.readouterr().err)
    assert (line["level"], line["message"][:47]) == ("error", "some work did not finish within 30 seconds; the")


@pytest.mark.parametrize(
    ("soft", "hard", "bound", "raised"),
    [
        (100_000, 100_000, 4096, None),
        (8448, 100_000, 4096, None),
        (8447, 100_000, 4096, 8448),
        (1024, -1, 4096, 8448),
        (1024, 1024, 384, 1024),
        (100, 258, 1, 258),
        (-1, -1, 4096, None),
    ],
)
def test_the_limit_of_open_files_is_raised_as_far_as_it_is_needed(soft, hard, bound, raised, monkeypatch):
    limits = []
    monkeypatch.setattr(run_server.resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(run_server.resource, "setrlimit", lambda kind, both: limits.append((kind, both)))
    assert run_server.connection_bound(4096) == bound
    assert limits == ([] if raised is None else [(run_server.resource.RLIMIT_NOFILE, (raised, hard))])


def test_a_process_that_may_open_257_files_has_none_for_a_connection(monkeypatch):
    monkeypatch.setattr(run_server.resource, "getrlimit", lambda _: (257, 257))
    monkeypatch.setattr(run_server.resource, "setrlimit", lambda *_: None)
    with pytest.raises(
        BadInput, match="this process may open only 257 files, but a server needs more than 257; raise .* ulimit -n"
    ):
        run_server.connection_bound(4096)
    monkeypatch.setattr(run_server, "resource", None)  # Windows
    assert run_server.connection_bound(4096) == 4096


def test_warnings_of_uvicorn_are_lines_of_the_log_and_its_greetings_are_not(capsys):
    logger = logging.Logger("uvicorn.error")
    for level in ("all", "off"):
        log = RequestLog(level)
        logger.handlers = [UvicornLog(log)]
        logger.info("Started")
        logger.error("Application startup failed. Exiting.")
        logger.warning("%s happened", "x" * 5000)
        log.flush()
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
        assert [(line["level"], line["message"]) for line in lines] == [("warning", "x" * 4000)] * (level == "all")


def test_a_folder_of_collections_is_described_or_refused(collection_parent, tmp_path):
    assert collections_found(None) == ""
    assert collections_found(collection_parent) == f"collections in {collection_parent}: notes"
    assert collections_found(tmp_path).startswith(
        f"no collections in {tmp_path} yet; create one with: likewise index add"
    )
    with pytest.raises(BadInput, match="there is no folder"):
        collections_found(tmp_path / "absent")
    with pytest.raises(
        BadInput, match=f"is itself a collection; pass the folder that contains it: {collection_parent}$"
    ):
        collections_found(collection_parent / "notes")
