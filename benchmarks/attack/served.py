"""A server with tiny models in a child process, with functions that send requests and check what must always hold."""

import json
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from likewise.serve.budget import Budget
from likewise.serve.run_server import bound_socket, run_on
from likewise.serve.serve_settings import ServeSettings

from .attempt import Failed, Setup, expect
from .kills import forked

SECONDS = 3.0
"""The deadline of a request; a response may be a second late."""
MAP_SECONDS = 8.0
"""The deadline of a map, which a separate process computes at low priority."""
DRAIN, DRAIN_SLACK = 2.0, 2.0
HEALTH_SECONDS = 2.0
"""The time limit of /health, long because attempts share the processors; in `benchmarks.serve_soak`, it is 250 ms."""
BUSY_SECONDS = 2.0
"""Added to every deadline for the same reason."""
MEANT = (503, 504)
"""The only statuses of 500 and above that a server may return."""
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
GONE = 0
"""Stands in for a status if the connection was closed without a response."""
TIMES_AS_TEXT = 5
"""Memory for a body and its parsed texts, which take up to 4 bytes per character in Python."""


class Answer(NamedTuple):
    """A response: its status or GONE, the part of the body that was read, and the seconds that it took."""

    status: int
    body: bytes
    seconds: float

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def request_bytes(method: str, path: str, body: Any = None) -> bytes:
    """Return a request with a JSON body, after which the connection is closed."""
    data = b"" if body is None else json.dumps(body).encode("utf-8", "surrogatepass")
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode("utf-8", "surrogatepass") + data


@dataclass
class Server:
    """A running server, as seen by a client on this machine and by its parent process."""

    port: int
    pid: int
    settings: ServeSettings
    idle: int = 0
    """Bytes of memory before the first request."""

    def connect(self, receive_buffer: int = 0) -> socket.socket:
        """Open a connection; with a small buffer, it receives only a small part of a response."""
        connection = socket.socket()
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(2 * SECONDS + 10)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """Send a request and return the response."""
        return self.send(request_bytes(method, path, body))

    def send(self, request: bytes) -> Answer:
        """Send these bytes and return the response, of which at most the first megabyte is kept."""
        began = time.monotonic()
        try:
            with self.connect() as connection:
                with suppress(ConnectionError):  # rejected before everything was sent; the response says why
                    connection.sendall(request)
                status, body = read_answer(connection)
        except ConnectionError:
            status, body = GONE, b""
        except TimeoutError:
            raise Failed("hang", f"no answer after {time.monotonic() - began:.1f} s: {request[:80]!r}") from None
        return Answer(status, body, time.monotonic() - began)

    def memory(self, name: str = "VmRSS") -> int:
        """Return the process's resident memory in bytes, or its peak for VmHWM."""
        return memory_of(self.pid, name)

    def is_running(self) -> bool:
        """Whether the process is still running."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def sockets(self) -> int:
        """Count the process's open sockets."""
        found = 0
        for entry in os.scandir(f"/proc/{self.pid}/fd"):
            with suppress(OSError):  # the file descriptor was closed meanwhile
                found += Path(entry.path).readlink().name.startswith("socket:")
        return found

    def check(self, answer: Answer, what: str, deadline: float = SECONDS) -> None:
        """Fail the attempt if a response is late or an unintended error."""
        status = answer.status
        expect(status < 500 or status in MEANT, "wrong answer", f"{what}: status {status}: {answer.body[:300]!r}")
        expect(answer.seconds <= deadline + 1 + BUSY_SECONDS, "hang", f"{what}: answered after {answer.seconds:.1f} s")

    def check_health(self, what: str = "at the end") -> None:
        """Fail the attempt unless the server answers /health promptly."""
        answer = self.ask("GET", "/health")
        expect(answer.status == 200, "wrong answer", f"/health {what}: status {answer.status}: {answer.body[:200]!r}")
        expect(answer.seconds <= HEALTH_SECONDS, "hang", f"/health {what} waited {answer.seconds:.2f} s")

    def check_memory(self) -> None:
        """Fail the attempt if the server exceeded its memory budget, or still holds memory without requests."""
        peak, most = self.memory("VmHWM") - self.idle, stated_bytes(self.settings)
        expect(peak <= most, "memory", f"{peak / 2**20:,.0f} MB more than idle; the budget is {most / 2**20:,.0f}")
        last = time.monotonic() + self.settings.deadline
        while any((held := self.ask("GET", "/status").json().get("held", {})).values()):
            expect(time.monotonic() < last, "memory", f"without any requests, it still holds {held}")
            time.sleep(0.1)

    def end(self) -> None:
        """Send SIGTERM; fail the attempt if the process crashes or does not end in time."""
        began = time.monotonic()
        os.kill(self.pid, signal.SIGTERM)
        while self.is_running():
            late = time.monotonic() - began - self.settings.drain_seconds
            expect(
                late <= DRAIN_SLACK + BUSY_SECONDS,
                "hang",
                f"it still runs {late:.1f} s after SIGTERM and its drain time",
            )
            time.sleep(0.01)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        expect(code in (0, 1, -signal.SIGTERM), "crash", f"after SIGTERM it ended with {code}")


def memory_of(pid: int, name: str = "VmRSS") -> int:
    """Return the memory of a process in bytes; 0 if it has ended."""
    with suppress(OSError):
        found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) * 1024 if found else 0
    return 0


def read_answer(connection: socket.socket, keep: int = 1 << 20) -> tuple[int, bytes]:
    """Read a response to its end; returns its status and the first bytes of its body."""
    kept, size = bytearray(), 0
    while data := connection.recv(1 << 18):
        size += len(data)
        if len(kept) < keep:
            kept += data
        head = kept.find(b"\r\n\r\n")
        length = CONTENT_LENGTH.search(kept[: head + 2]) if head >= 0 else None
        if length and size >= head + 4 + int(length[1]):
            break
    return (int(kept[9:12]), bytes(kept[kept.find(b"\r\n\r\n") + 4 :])) if kept else (GONE, b"")


def settings_of(**changes: Any) -> ServeSettings:
    """Return settings with short time limits and without a log, because logged requests that fail look like crashes."""
    times = {"deadline": SECONDS, "map_deadline": MAP_SECONDS, "body_timeout": 1.0, "drain_seconds": DRAIN}
    budget = Budget(header_seconds=1.0, write_seconds=1.0)
    return ServeSettings(**{**times, "engine": "numpy", "log": "off", "budget": budget, **changes})


def stated_bytes(settings: ServeSettings) -> int:
    """Return the maximum memory of a process in addition to its models, according to its budget (docs/serve.md)."""
    budget = settings.budget
    bodies = max(budget.bodies, 2 * settings.max_body)
    return budget.requests + TIMES_AS_TEXT * bodies + budget.answers + 2 * budget.layers


@contextmanager
def served(
    models: Sequence[str], collections: Path | None = None, rerankers: Sequence[str] = (), **changes: Any
) -> Iterator[Server]:
    """Start a server with these models on a free port of this machine; it ends with the block at the latest."""
    settings = settings_of(port=0, **changes)
    listening = bound_socket(settings)
    port = listening.getsockname()[1]
    pid = forked(partial(run_on, listening, list(models), list(rerankers), collections, settings))
    listening.close()
    server = Server(port, pid, settings)
    try:
        expect(server.ask("GET", "/health").status == 200, "wrong answer", "a new server is not healthy")
        server.idle = server.memory()
        yield server
    finally:
        if server.pid:
            os.kill(server.pid, signal.SIGKILL)
            os.waitpid(server.pid, 0)


@contextmanager
def tiny_server(setup: Setup, **changes: Any) -> Iterator[Server]:
    """Start a server with the tiny embedder, the tiny reranker and the collections created before all attempts."""
    models, rerankers = [f"tiny={setup.models / 'served'}"], [f"tiny-reranker={setup.models / 'cross-bert'}"]
    with served(models, setup.models / "collections", rerankers, **changes) as server:
        yield server


def beside(server: Server, work: Callable[[], Any], seconds: float) -> Any:
    """Do the work while requesting the server's health all the time; returns the result of the work."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread, began = threading.Thread(target=do, daemon=True), time.monotonic()
    thread.start()
    while thread.is_alive():
        expect(time.monotonic() - began < seconds, "hang", f"not finished after {seconds:g} s")
        if server.is_running():
            server.check_health("meanwhile")
        thread.join(0.05)
    if errors:
        raise errors[0]
    return results[0]
