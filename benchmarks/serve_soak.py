"""Stresses a server for minutes: mixed requests to all routes, together with slow readers, floods and bombs.

python -m benchmarks.serve_soak [--requests 50000] [--minutes 6] [--workers 1] [--engine native] [--json FILE]

Along with the requests, there are 15 clients that do not read, connections that flood headers, queries of many words,
and bombs for every route (`benchmarks.attack.bombs`); /health is requested 10 times a second. At the end, SIGTERM is
sent while all clients continue. The exit status is 1 if the server used more memory than its idle memory plus its
budget, /health took longer than 250 ms, a request ended more than a second after the deadline, shutdown after SIGTERM
took longer than the drain time plus two seconds, or there was a status of 500 or more other than 503 and 504. The
clients run on the same processors, but yield to the server (nice 10). All traffic goes to 127.0.0.1.
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from likewise.serve.serve_settings import ServeSettings
from tests.serve.requests_by_route import GOOD, path_of

from .attack.attempt import Failed
from .attack.bombs import QUERIES, ROUTES, requests_of
from .attack.served import GONE, Answer, Server, memory_of, request_bytes, stated_bytes
from .attack.servers import SLOW, make
from .options import options
from .record import machine

DEADLINE = 10.0
HEALTH_SECONDS, HEALTH_EVERY = 0.25, 0.1
LATE_SECONDS, DRAIN_SLACK = 1.0, 2.0
MEANT = (503, 504)
THREADS = 8
"""Number of processes that send mixed requests."""
SLOW_READERS, FLOODS, WORD_BOMBS, BOMBERS = 15, 2, 2, 2
MAP = "/v1/collections/{name}/map"
FORK = multiprocessing.get_context("fork")


@dataclass
class Seen:
    """The responses that clients of one kind received."""

    statuses: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    slowest: float = 0.0
    slowest_request: str = ""
    wrong: list[str] = field(default_factory=list)

    def ask(self, server: Server, name: str, request: bytes) -> None:
        """Send a request and record its outcome."""
        try:
            self.add(name, server.send(request))
        except Failed as error:
            self.wrong.append(f"{name}: {error.detail}")

    def as_json(self) -> dict[str, Any]:
        """Return the results to write, with quantiles in place of individual times."""
        ranked = sorted(self.seconds)
        shares = {f"p{100 * share:g}": ranked[int(share * len(ranked))] for share in (0.5, 0.99, 0.999) if ranked}
        return {**vars(self), "seconds": {name: round(value, 3) for name, value in shares.items()}}

    def add(self, name: str, answer: Answer) -> None:
        """Record a response."""
        self.statuses[str(answer.status) if answer.status != GONE else "closed"] += 1
        self.seconds.append(answer.seconds)
        if answer.seconds > self.slowest:
            self.slowest, self.slowest_request = round(answer.seconds, 3), name
        if answer.status >= 500 and answer.status not in MEANT:
            self.wrong.append(f"{name}: {answer.status} {answer.body[:200]!r}")


def main() -> int:
    """Run the test, print the results, and return the exit status."""
    args = options(__doc__, requests=50_000, minutes=6.0, workers=1, engine="native", seed=0, json=Path)
    with tempfile.TemporaryDirectory(prefix="likewise-soak-") as place:
        in_child = FORK.Process(target=_make, args=(Path(place),))
        in_child.start()
        in_child.join()
        with _served(Path(place), args) as server:
            result = _soak(server, args)
    violations = _violations(result, args)
    result |= {"violations": violations, "machine": machine()}
    print(json.dumps(result, indent=2))
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    print("\n".join(violations) or "no violation", file=sys.stderr)
    return 1 if violations else 0


def _make(place: Path) -> None:
    """Create tiny models and collections of their vectors."""
    from tests.tiny import classifier_folder, model_folder

    model_folder(place / "bert", "bert", settings={"max_seq_length": 40})
    classifier_folder(place / "cross-bert", "bert")
    make(place)


@contextmanager
def _served(place: Path, args: argparse.Namespace) -> Iterator[Server]:
    """Start the server by its command, as a user would."""
    command = [sys.executable, "-m", "likewise", "serve", f"tiny={place / 'bert'}", "--port", "0", "--log", "off"]
    command += ["--reranker", f"tiny-reranker={place / 'cross-bert'}", "--collections", str(place / "collections")]
    command += ["--engine", args.engine, "--deadline", str(DEADLINE), "--threads", "1", "--workers", str(args.workers)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            port = int(process.stderr.readline().strip().rpartition(":")[2])
            yield Server(port, process.pid, ServeSettings(deadline=DEADLINE))
        finally:
            process.kill()


def _soak(server: Server, args: argparse.Namespace) -> dict[str, Any]:
    for route in ROUTES:  # loads models, opens collections and imports lazy modules before idle memory is read
        server.send(_good(route))
    idle, began = _memory(server.pid), time.monotonic()
    ends, stop, quiet = began + 60 * args.minutes, FORK.Event(), FORK.Event()
    results = FORK.Queue()
    kinds: dict[str, Callable[..., Seen]] = {"mixed": _mixed, "bombs": _bombs, "slow": _slow_clients, "health": _health}
    processes = []
    for name, work in kinds.items():
        end = quiet if name == "health" else stop
        processes.append(FORK.Process(target=_client, args=(results, name, work, server, args, ends, end)))
    for process in processes:
        process.start()
    peak, seconds = _watched(server, processes[0], ends)
    quiet.set()
    time.sleep(1)  # end requests to /health first, because a stopping server accepts no new connections
    sigterm = _terminated(server)
    stop.set()
    seen = dict(results.get(timeout=60) for _ in processes)
    for process in processes:
        process.join(10)
        process.kill()
    mb = 1 << 20
    return {
        "requests": sum(seen["mixed"].statuses.values()),
        "seconds": round(seconds, 1),
        "idle_mb": round(idle / mb, 1),
        "peak_mb": round(max(peak, sigterm[1]) / mb, 1),
        "budget_mb": round(args.workers * stated_bytes(server.settings) / mb, 1),
        "sigterm_seconds": round(sigterm[0], 2),
        "clients": {name: one.as_json() for name, one in sorted(seen.items())},
    }


def _client(results: Any, name: str, work: Callable[..., Seen], *given: Any) -> None:
    """The body of a client process."""
    if name != "health":
        os.nice(10)
    results.put((name, work(*given)))


def _watched(server: Server, mixed: Any, ends: float) -> tuple[int, float]:
    """Return the server's peak memory until all mixed requests have been sent, and the time that this takes."""
    peak, began = 0, time.monotonic()
    while mixed.is_alive() and time.monotonic() < ends:
        peak = max(peak, _memory(server.pid))
        mixed.join(0.1)
    return peak, time.monotonic() - began


def _terminated(server: Server) -> tuple[float, int]:
    """Send SIGTERM; returns the seconds until the process ends, and its peak memory in that time."""
    began, peak, last = time.monotonic(), 0, server.settings.drain_seconds + 10
    os.kill(server.pid, signal.SIGTERM)
    while server.is_running() and time.monotonic() < began + last:
        peak = max(peak, _memory(server.pid))
        time.sleep(0.02)
    return time.monotonic() - began, peak


def _memory(pid: int) -> int:
    """Resident memory of a process and its children, in bytes."""
    children: list[str] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += (task / "children").read_text().split()
    return memory_of(pid) + sum(_memory(int(child)) for child in children)


def _good(route: Any) -> bytes:
    return request_bytes(route.method, path_of(route), GOOD[route.method, route.path] if route.body else None)


def _in_threads(count: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _mixed(server: Server, args: argparse.Namespace, ends: float, stop: Any) -> Seen:
    """Send valid requests to all routes in random order, until the requested number is reached."""
    seen, requests = Seen(), [(route.path, _good(route)) for route in ROUTES]

    def send(i: int) -> None:
        draw = random.Random(f"{args.seed} {i}")
        for _ in range(i, args.requests, THREADS):
            if time.monotonic() > ends or stop.is_set():
                return
            name, request = draw.choice(requests)
            seen.ask(server, name, request)

    _in_threads(THREADS, send)
    return seen


def _bombs(server: Server, args: argparse.Namespace, ends: float, stop: Any) -> Seen:
    """Send the bombs for all routes in random order, again and again, and queries of many words."""
    seen = Seen()
    words = [{"query": query, "collection": "many", "hybrid": True} for query in QUERIES.values()]
    bombs = [(route, name) for route in ROUTES for name in requests_of(route)]

    def send(i: int) -> None:
        draw = random.Random(f"{args.seed} {i}")
        while time.monotonic() < ends and not stop.is_set():
            if i < WORD_BOMBS:
                name, request = "words", request_bytes("POST", "/v1/search", draw.choice(words))
            else:
                route, bomb = draw.choice(bombs)
                name = f"{route.path} {bomb}"
                request = request_bytes(route.method, *requests_of(route)[bomb])
            seen.ask(server, name, request)

    _in_threads(WORD_BOMBS + BOMBERS, send)
    return seen


def _slow_clients(server: Server, args: argparse.Namespace, ends: float, stop: Any) -> Seen:
    """Run clients that never read responses, flood headers and the like, and that reconnect when cut off."""
    seen, floods = Seen(), [name for name in SLOW if name.startswith("flood-")]

    def live(i: int) -> None:
        draw = random.Random(f"{args.seed} {i}")
        while time.monotonic() < ends and not stop.is_set():
            name = "reader-none" if i < SLOW_READERS else draw.choice(floods)
            with suppress(OSError), server.connect(receive_buffer=4096) as connection:
                began = time.monotonic()
                for _ in SLOW[name](connection):
                    time.sleep(0.02)
                    if stop.is_set() or time.monotonic() > began + 2 * DEADLINE:
                        break
            seen.statuses[name] += 1
            time.sleep(0.05)

    _in_threads(SLOW_READERS + FLOODS, live)
    return seen


def _health(server: Server, args: argparse.Namespace, ends: float, stop: Any) -> Seen:  # noqa: ARG001
    """Request /health continuously, and record how soon it answers."""
    seen, request = Seen(), request_bytes("GET", "/health")
    while time.monotonic() < ends and not stop.is_set():
        seen.ask(server, "/health", request)
        time.sleep(HEALTH_EVERY)
    return seen


def _violations(result: Mapping[str, Any], args: argparse.Namespace) -> list[str]:
    """Describe the violated limits."""
    clients = result["clients"]
    health = clients["health"]
    most = result["idle_mb"] + result["budget_mb"]
    checks = [
        (result["requests"] >= args.requests, f"{result['requests']:,} of {args.requests:,} requests in the time"),
        (result["peak_mb"] <= most, f"memory: {result['peak_mb']} MB; idle memory plus budget: {most} MB"),
        (health["slowest"] <= HEALTH_SECONDS, f"/health took {health['slowest']} s"),
        (set(health["statuses"]) <= {"200"}, f"/health was answered with {dict(health['statuses'])}"),
        (result["sigterm_seconds"] <= ServeSettings.drain_seconds + DRAIN_SLACK, "SIGTERM took too long"),
    ]
    for name in ("mixed", "bombs", "health"):
        one = clients[name]
        checks += [
            (one["slowest"] <= DEADLINE + LATE_SECONDS, f"{name}: {one['slowest_request']} took {one['slowest']} s"),
            (not one["wrong"], f"{name}: {len(one['wrong'])} wrong: {one['wrong'][:3]}"),
        ]
    return [about for holds, about in checks if not holds]


if __name__ == "__main__":
    sys.exit(main())
