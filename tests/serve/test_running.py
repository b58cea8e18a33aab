"""The server as a process: how it starts, ends, is replaced and stands bad company."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from types import SimpleNamespace

import pytest

pytest.importorskip("uvicorn")

from likewise.serve.run_server import address_of
from tests.serve.requests_by_route import posted
from tests.serve.running_server import is_running, running_server, wait_until

TEXT = {"inputs": "A cat sleeps.", "dimensions": 2}


@pytest.fixture(scope="module")
def server():
    with running_server("likewise-static", "--max-body", "1", "--log", "off") as server:
        yield server


def status_of(server, data):
    """The status that a bare connection gets for some bytes."""
    with server.connect() as connection:
        connection.sendall(data)
        return connection.recv(1 << 16).split(b" ")[1]


def test_it_answers_and_ends_with_success_when_asked_to():
    with running_server("likewise-static") as server:
        assert server.ask("/embed", TEXT)[0] == 200
        code, log = server.end()
    assert code == 0
    (line,) = (json.loads(line) for line in log.splitlines() if '"path"' in line)
    assert (line["path"], line["status"], line["model"]) == ("/embed", 200, "likewise-static")


def test_a_model_that_is_not_there_ends_it_with_an_error():
    command = [sys.executable, "-m", "likewise", "serve", "no/such/model", "--port", "0"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert found.returncode == 2
    assert "no/such/model" in found.stderr
    assert "Traceback" not in found.stderr


def test_what_has_begun_is_finished_after_sigterm():
    with running_server("likewise-mini", "--log", "off") as server:
        answers = []
        body = {"inputs": ["a cat sleeps on a sofa"] * 3000, "dimensions": 1}
        asking = threading.Thread(target=lambda: answers.append(server.ask("/embed", body)))
        asking.start()
        wait_until(lambda: server.ask("/status")[1]["queue"])
        code, _ = server.end()
        asking.join(20)
    assert code == 0
    assert [(status, len(rows)) for status, rows in answers] == [(200, 3000)]


def test_sighup_loads_the_model_again_without_a_failed_request():
    with running_server("likewise-static") as server:
        stop, statuses = threading.Event(), []

        def keep_asking():
            while not stop.is_set():
                statuses.append(server.ask("/embed", TEXT)[0])

        asking = threading.Thread(target=keep_asking)
        asking.start()
        server.ask("/embed", TEXT)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "was reloaded" in server.process.stderr.readline())  # there is a line for each request
        stop.set()
        asking.join(10)
        server.end()
    assert {*statuses} == {200}


def test_a_killed_worker_is_replaced_and_the_other_answers():
    with running_server("likewise-static", "--workers", "2", "--log", "off") as server:
        server.ask("/embed", TEXT)
        before = server.children()
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        assert server.ask("/embed", TEXT)[0] == 200
        wait_until(lambda: {*server.children()} - {*before})
        code, log = server.end()
    assert code == 0
    assert "SIGKILL" in log


def test_workers_stop_when_their_parent_is_killed():
    with running_server("likewise-static", "--workers", "2", "--log", "off") as server:
        server.ask("/embed", TEXT)
        workers = server.children()
        server.process.kill()
        server.process.wait()
        wait_until(lambda: not any(map(is_running, workers)))
        with pytest.raises(ConnectionRefusedError):
            server.connect()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"no HTTP at all\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"400"),
        (b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
        (b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (b"POST /embed HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", b"421"),
        (b"GET /%ff%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"404"),
    ],
)
def test_bad_requests_get_a_status_of_the_callers(data, status, server):
    assert status_of(server, data) == status
    assert server.ask("/health")[0] == 200


def test_an_answer_has_these_headers_and_no_others(server):
    with server.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        lines = connection.recv(1 << 16).split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    names = {line.split(b":")[0] for line in lines}
    assert names == {b"content-type", b"content-length", b"x-request-id", b"x-content-type-options"}


def test_a_body_in_chunks_over_the_bound_is_refused(server):
    head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    assert status_of(server, head + chunk * 40 + b"0\r\n\r\n") == b"413"


def test_a_caller_that_goes_away_is_noted_and_not_computed():
    texts = [f"a cat sleeps on sofa {i} " * 30 for i in range(5000)]
    with running_server("likewise-mini") as server:
        with server.connect() as connection:
            connection.sendall(posted("/embed", {"inputs": texts}))
            wait_until(lambda: server.ask("/status")[1]["queue"])
        wait_until(lambda: not server.ask("/status")[1]["queue"], 5)  # all of it takes about a minute
        _, log = server.end()
    assert '"status":499' in log
    assert "Traceback" not in log


def test_callers_that_go_away_leave_nothing_behind(server):
    request = posted("/embed", {"inputs": ["a cat sleeps"] * 2000})
    for end in (20, request.index(b"{"), request.index(b"{") + 100, None):
        with server.connect() as connection:
            connection.sendall(request[:end])
    wait_until(lambda: server.ask("/status")[1]["queue"] == 0)
    assert server.ask("/embed", TEXT)[0] == 200


def keep_asking(port, found, stop, keeps):
    """Ask over one connection, or a new one each time, until the server takes no more; note what was sent in vain."""
    request = posted("/embed", {"inputs": "a cat sleeps"}, b"" if keeps else b"Connection: close\r\n")
    while not stop.is_set():
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=20)
        except OSError:
            return
        with connection:
            is_open = True
            while is_open and not stop.is_set():
                connection.sendall(request)
                try:
                    answer = connection.recv(1 << 16)
                except OSError as error:
                    answer = repr(error).encode()
                found.append(answer[:12])
                is_open = answer.startswith(b"HTTP/1.1 200") and b"connection: close" not in answer.lower()


@pytest.mark.parametrize("keeps", [True, False], ids=["kept connections", "a connection for each"])
def test_no_request_is_lost_when_workers_are_ended_under_load(keeps):
    with running_server("likewise-static", "--workers", "2", "--log", "off") as server:
        server.ask("/embed", TEXT)
        time.sleep(1)  # for the other worker to start
        found, stop = [], threading.Event()
        asking = [threading.Thread(target=keep_asking, args=(server.port, found, stop, keeps)) for _ in range(12)]
        for thread in asking:
            thread.start()
        time.sleep(0.7)
        code, _ = server.end()
        stop.set()
        for thread in asking:
            thread.join(30)
    assert code == 0
    assert len(found) > 50
    assert {*found} == {b"HTTP/1.1 200"}


STUCK = """
import ctypes, signal, sys, threading, time
from likewise.serve.batching import ModelThread
from likewise.serve.run_server import bound_socket, run_on, address_of
from likewise.serve import ServeSettings

if sys.argv[1] == "never computes":
    ModelThread._compute = lambda *_: time.sleep(60)
settings = ServeSettings(port=0, drain_seconds=1.0, log="all")
listening = bound_socket(settings)
print("serving at", address_of(listening), file=sys.stderr, flush=True)
hold = {"sleeps": lambda: time.sleep(60), "keeps the lock": lambda: ctypes.PyDLL(None).sleep(60)}.get(sys.argv[1])

def wait():
    sys.stdin.readline()
    hold()

threading.Thread(target=wait).start()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # as the command line does
run_on(listening, ["likewise-static"], [], None, settings)
"""


@pytest.mark.parametrize("kind", ["sleeps", "keeps the lock"])
def test_sigterm_ends_the_process_in_time_whatever_its_threads_do(kind):
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", STUCK, kind], stdin=pipe, stderr=pipe, text=True) as process:
        try:
            url = process.stderr.readline().split("serving at ")[1].strip()
            urllib.request.urlopen(f"{url}/health", timeout=20).close()
            process.send_signal(signal.SIGTERM)
            time.sleep(0.05)
            process.stdin.write("now\n")
            process.stdin.flush()
            process.wait(20)  # of the 60 that its thread takes; the soak measures them
            log = process.stderr.read()
        finally:
            process.kill()
    assert process.returncode == 1
    assert ("some work did not finish within 1 seconds" if kind == "sleeps" else "Timeout") in log


def test_what_is_not_done_in_the_drain_time_is_answered_that_the_server_stops():
    command = [sys.executable, "-c", STUCK, "never computes"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            port = int(process.stderr.readline().rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), 20) as connection:
                connection.sendall(posted("/embed", {"inputs": "cat"}))
                time.sleep(0.2)
                process.send_signal(signal.SIGTERM)
                answer = connection.recv(1 << 16)
        finally:
            process.kill()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"the server is stopping" in answer


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("bound", "address"),
    [(("127.0.0.1", 80), "http://127.0.0.1:80"), (("::1", 8080, 0, 0), "http://[::1]:8080")],
)
def test_an_address_is_one_to_type_into_a_browser(bound, address):
    assert address_of(SimpleNamespace(getsockname=lambda: bound)) == address
