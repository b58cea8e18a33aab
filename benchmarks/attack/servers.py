"""Servers under attack: bombs for every route, slow clients, floods, signals, and models that are replaced.

Every request must end by its deadline, /health must answer, memory must stay within the budget, no status of 500 or
above except 503 and 504 may be returned, and SIGTERM must end the process within its drain time.
"""

import os
import random
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likewise.classify import Classifier
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.search.collection import Collection
from likewise.search.records import Records
from likewise.search.texts.text_index import TextIndex, identity_of_embedder
from likewise.serve.web.endpoint import ApiRoute
from tests.serve.requests_by_route import GOOD, path_of

from .attempt import Attempt, Setup, expect
from .bombs import QUERIES, ROUTES, requests_of
from .fuzz import sent, spoilt
from .served import (
    BUSY_SECONDS,
    GONE,
    MAP_SECONDS,
    MEANT,
    SECONDS,
    Answer,
    Server,
    beside,
    request_bytes,
    served,
    tiny_server,
)

CROWD = 8
"""Number of clients that send a bomb at the same time."""
NOTES = ["a cat sleeps", "a kitten naps", "shares fell", "the market fell", "dogs bark", "a dog barks at night"]
SIGNALS = (signal.SIGTERM, signal.SIGHUP)
SLOW_CLIENTS = 15
WAIT = 0.15
"""Seconds between a bomb and the signal."""
MANY_ROWS = 20_000


def make(models: Path) -> None:
    """Create the served model, with a classifier, and its collections: one with a few notes, one with many texts."""
    folder = models / "served"
    shutil.copytree(models / "bert", folder)
    embedder = NumpyEmbedder.load(folder)
    Classifier.fit(NOTES, [f"label {i % 2}" for i in range(len(NOTES))], embedder).save(folder)
    with TextIndex.open(models / "collections/notes", embedder) as index:
        index.add(NOTES)
    draw = random.Random(0)
    texts = [" ".join(f"w{draw.randrange(100_000):x}" for _ in range(30)) for _ in range(MANY_ROWS)]
    vectors = np.random.default_rng(0).standard_normal((MANY_ROWS, embedder.dimension)).astype(np.float32)
    identity = identity_of_embedder(embedder, str(folder), True)
    with Collection.create(str(models / "collections/many"), embedder.dimension, identity) as collection:
        collection.add(Records([f"{i}" for i in range(MANY_ROWS)], vectors, texts, [{"year": 2000}] * MANY_ROWS))


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Yield each attack on every route that it applies to."""
    named: dict[str, Callable[[], str | None]] = {}
    for route in ROUTES:
        where = f"{route.method}{route.path.replace('/', ':')}"
        named |= {f"bomb/{where}/{name}": partial(_bomb, setup, route, name) for name in requests_of(route)}
        named |= {f"crowd/{where}": partial(_crowd, setup, route)}
        named |= {f"{number.name}/{where}": partial(_signalled, setup, route, number) for number in SIGNALS}
    named |= {f"slow/{name}": partial(_slow, setup, name, None) for name in SLOW}
    named |= {f"slow/{name}/{n.name}": partial(_slow, setup, name, n) for name in SLOW for n in SIGNALS}
    named |= {f"words/{name}": partial(_words, setup, name) for name in QUERIES}
    named |= {f"swap/{name}/{how}": partial(_swap, setup, name, how) for name in SWAPS for how in ("SIGHUP", "alone")}
    named |= {f"fuzz/{i}": partial(_fuzz, setup, f"{setup.seed} {i}") for i in range(20)}
    for name, work in [*named.items()][:: 10 if setup.quick else 1]:
        yield Attempt(f"servers/{name}", work, OUTPUTS)


OUTPUTS = ("model", "model/*", "other", "other/*", "collections", "collections/*")


def _good(route: ApiRoute) -> bytes:
    body = GOOD[route.method, route.path] if route.body is not None else None
    return request_bytes(route.method, path_of(route), body)


def _deadline(route: ApiRoute) -> float:
    return SECONDS if route.seconds is None else MAP_SECONDS


def _worst(route: ApiRoute) -> bytes:
    """Return the last of a route's bombs, in which every field is at its limit."""
    return request_bytes(route.method, *[*requests_of(route).values()][-1])


def _bomb(setup: Setup, route: ApiRoute, name: str) -> str:
    """Send one bomb while requesting /health; then a valid request."""
    request = request_bytes(route.method, *requests_of(route)[name])
    with tiny_server(setup) as server:
        _check_good(server, route, "before")
        answer: Answer = beside(server, partial(server.send, request), 4 * SECONDS)
        server.check(answer, name, _deadline(route))
        _check_good(server, route, "afterwards")
        server.check_memory()
        server.end()
    return "answered" if answer.status == 200 else "refused"


def _check_good(server: Server, route: ApiRoute, when: str) -> None:
    """Check that a valid request is answered as soon as the model has finished its current work."""
    last = time.monotonic() + _deadline(route) + BUSY_SECONDS
    while (answer := server.send(_good(route))).status in (429, *MEANT) and time.monotonic() < last:
        time.sleep(0.1)
    expect(answer.status == 200, "wrong answer", f"a valid request {when}: {answer.status}: {answer.body[:300]!r}")


def _crowd(setup: Setup, route: ApiRoute) -> None:
    """Send several bombs at the same time."""
    request = _worst(route)
    with tiny_server(setup) as server:
        for answer in beside(server, lambda: _at_once(server, [request] * CROWD), 5 * SECONDS):
            server.check(answer, f"one of {CROWD}", _deadline(route))
        _check_good(server, route, "afterwards")
        server.check_memory()
        server.end()


def _at_once(server: Server, requests: list[bytes]) -> list[Answer]:
    """Send these requests at the same time, each from its own client; returns the responses."""
    with ThreadPoolExecutor(len(requests)) as clients:
        return [*clients.map(server.send, requests)]


def _signalled(setup: Setup, route: ApiRoute, number: signal.Signals) -> None:
    """Send a signal during a bomb: SIGTERM must end the server in time, and SIGHUP must not end it."""
    request = _worst(route)
    with tiny_server(setup) as server, ThreadPoolExecutor(1) as client:
        asked = client.submit(server.send, request)
        time.sleep(WAIT)
        if number == signal.SIGTERM:
            server.end()
        else:
            os.kill(server.pid, number)
        answer = asked.result()
        server.check(answer, f"under {number.name}", _deadline(route))
        if number != signal.SIGTERM:
            expect(answer.status != GONE, "wrong answer", f"the connection was closed after {number.name}")
            server.check_health()
            server.end()


# slow clients and floods: what each client does with its connection until it is closed


Client = Callable[[socket.socket], Iterator[None]]
"""A client that proceeds step by step; it ends or raises OSError when its connection is closed."""
LARGE = request_bytes("POST", "/similarity", {"texts": [f"cat {i}" for i in range(700)]})
"""A request that takes little work and has a response of about 10 MB, more than the kernel buffers."""
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = b"POST /embed HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = b"POST /embed HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
FLOOD = 4 << 20
"""Number of bytes per write."""


def _reads(request: bytes, at_a_time: int) -> Client:
    def do(connection: socket.socket) -> Iterator[None]:
        connection.sendall(request)
        while True:
            yield
            if at_a_time and not connection.recv(at_a_time):
                return

    return do


def _sends(begin: bytes, more: bytes) -> Client:
    def do(connection: socket.socket) -> Iterator[None]:
        connection.sendall(begin)
        while True:
            yield
            connection.sendall(more)

    return do


def _floods(begin: bytes, more: bytes) -> Client:
    return _sends(begin, more * (FLOOD // len(more)))


SLOW: Mapping[str, Client] = {
    "reader-none": _reads(LARGE, 0),
    "reader-drip": _reads(LARGE, 256),
    "reader-pipelined": _reads(LARGE.replace(b"Connection: close\r\n", b"") * 5, 0),
    "sender-none": _reads(b"", 0),
    "sender-headers": _sends(HEALTH + b"X-A: ", b"a"),
    "sender-body": _sends(BODY, b" "),
    "sender-body-none": _reads(BODY, 0),
    "sender-chunks": _sends(CHUNKED, b"1\r\n \r\n"),
    "sender-trailers": _sends(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-A: a\r\n"),
    "sender-second": _sends(HEALTH + b"\r\n" + HEALTH + b"X-A: ", b"a"),
    "flood-header-lines": _floods(HEALTH, b"X-A: bcdefghijklmnop\r\n"),
    "flood-one-header": _floods(HEALTH + b"X-A: ", b"a" * 1024),
    "flood-header-names": _floods(HEALTH, b"a" * 1024),
    "flood-path": _floods(b"GET /", b"a" * 1024),
    "flood-trailers": _floods(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-A: bcdefghijklmnop\r\n"),
    "flood-chunk-extension": _floods(CHUNKED + b"5;a=", b"a" * 1024),
    "flood-chunks": _floods(CHUNKED, b"1\r\n \r\n"),
    "flood-body": _floods(HEALTH + b"Content-Length: 0\r\n\r\n", b"a" * 1024),
    "flood-requests": _floods(b"", HEALTH + b"\r\n"),
    "flood-large-requests": _sends(b"", LARGE.replace(b"Connection: close\r\n", b"")),
}


def _slow(setup: Setup, name: str, number: signal.Signals | None) -> None:
    """Open connections by clients of one kind, and check that the server closes them by its deadline."""
    with tiny_server(setup) as server:
        before = server.sockets()
        clients = [threading.Thread(target=_live, args=(server, SLOW[name]), daemon=True) for _ in range(SLOW_CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(WAIT)
        if number == signal.SIGTERM:
            server.end()
            return
        if number is not None:
            os.kill(server.pid, number)
        beside(server, lambda: _until_closed(server, before), 3 * SECONDS)
        server.check_memory()
        server.end()


def _live(server: Server, client: Client) -> None:
    with suppress(OSError), server.connect(receive_buffer=4096) as connection:
        for _ in client(connection):
            time.sleep(0.02)


def _until_closed(server: Server, before: int) -> None:
    """Wait until the server has closed all connections except the earlier ones and the one that requests /health."""
    last = time.monotonic() + SECONDS + 1 + BUSY_SECONDS
    while server.sockets() > before + 1:
        open_ = f"{server.sockets() - before} connections are open"
        expect(time.monotonic() < last, "hang", f"{open_} {SECONDS + 1:g} s after they began")
        time.sleep(0.05)


# full-text search


def _words(setup: Setup, name: str) -> str:
    """Run three full-text queries at the same time; a search of another collection afterwards must be fast."""
    bomb = request_bytes("POST", "/v1/search", {"query": QUERIES[name], "collection": "many", "hybrid": True})
    other = {"query": "a cat", "collection": "notes", "hybrid": True}
    with tiny_server(setup) as server:
        server.ask("POST", "/v1/search", other)
        answers = beside(server, lambda: _at_once(server, [bomb] * 3), 4 * SECONDS)
        for answer in answers:
            server.check(answer, name)
        answer = server.ask("POST", "/v1/search", other)
        expect(answer.status == 200, "wrong answer", f"then another collection: {answer.status} {answer.body[:200]!r}")
        expect(answer.seconds < SECONDS / 2, "hang", f"another collection was searched after {answer.seconds:.1f} s")
        server.end()
    return "answered" if answers[0].status == 200 else "refused"


# models and collections that are replaced while the server runs


def _other_weights(folder: Path) -> bytes:
    """Write the weights of another model of the same shape."""
    from safetensors.numpy import load_file, save

    draw = np.random.default_rng(1)
    tensors = load_file(folder / "model.safetensors")
    return save({n: t + draw.standard_normal(t.shape).astype(t.dtype) for n, t in tensors.items()}, {"format": "pt"})


def _exchanged(change: Callable[[Path], Any]) -> Callable[[Path], None]:
    """Return a function that changes a copy of a folder and then replaces the folder by it."""

    def do(folder: Path) -> None:
        copy = folder.with_name("other")
        shutil.copytree(folder, copy)
        change(copy)
        folder.rename(folder.with_name("former"))
        copy.rename(folder)
        shutil.rmtree(folder.with_name("former"))

    return do


def _write_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(_other_weights(folder))


def _cut_weights(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def _put_weights(folder: Path) -> None:
    (folder / "new").write_bytes(_other_weights(folder))
    (folder / "new").rename(folder / "model.safetensors")


class Swap(NamedTuple):
    """Changes to the model's folder, and whether searches must still find the same records."""

    change: Callable[[Path], Any]
    same: bool = False


SWAPS: Mapping[str, Swap] = {
    "same-model": Swap(_exchanged(lambda _: None), True),
    "other-model": Swap(_exchanged(_write_weights)),
    "other-weights": Swap(_put_weights),
    "other-words": Swap(_exchanged(lambda f: _replace(f / "tokenizer.json", b'"cat"', b'"kat"'))),
    "other-settings": Swap(_exchanged(lambda f: _replace(f / "sentence_bert_config.json", b"40", b"3"))),
    "broken-config": Swap(_exchanged(lambda f: (f / "config.json").write_bytes(b"{"))),
    "cut-weights": Swap(_exchanged(_cut_weights)),
    "empty-folder": Swap(_exchanged(lambda f: [path.unlink() for path in f.iterdir() if path.is_file()])),
    "no-folder": Swap(shutil.rmtree),
}


def _replace(path: Path, old: bytes, new: bytes) -> None:
    expect(old in path.read_bytes(), "wrong answer", f"the attack itself failed: {path} has no {old!r}")
    path.write_bytes(path.read_bytes().replace(old, new))


QUESTION = {"query": "the cat and a kitten", "collection": "notes"}


def _swap(setup: Setup, name: str, how: str) -> str:
    """Check that a search gives the same results as before, or an error, but never compares vectors of two models."""
    folder, swap, status = Path("model").absolute(), SWAPS[name], 0
    shutil.copytree(setup.models / "bert", folder)
    with TextIndex.open("collections/notes", NumpyEmbedder.load(folder)) as index:
        index.add(NOTES)
    with served([f"tiny={folder}"], Path("collections")) as server:
        expected = _scores(server.ask("POST", "/v1/search", QUESTION))
        expect(expected, "wrong answer", "the search found nothing before the replacement")
        swap.change(folder)
        if how == "SIGHUP":
            os.kill(server.pid, signal.SIGHUP)
        last = time.monotonic() + 1.0
        while time.monotonic() < last:
            answer = server.ask("POST", "/v1/search", QUESTION)
            server.check(answer, "a search")
            status = answer.status
            expect(
                status == 200 or not swap.same, "wrong answer", f"with the same model: {status} {answer.body[:300]!r}"
            )
            if status == 200:
                expect(_scores(answer) == expected, "wrong answer", f"{_scores(answer)} instead of {expected}")
            embedded = server.ask("POST", "/embed", {"inputs": "cat"})
            expect(embedded.status == 200, "wrong answer", f"/embed: {embedded.status} {embedded.body[:300]!r}")
            time.sleep(0.05)
        server.end()
    return "answered" if status == 200 else "refused"


def _scores(answer: Answer) -> dict[str, float]:
    return {one["text"]: round(one["score"], 4) for one in answer.json()["passages"]} if answer.status == 200 else {}


def _fuzz(setup: Setup, seed: str) -> None:
    """Send malformed requests (`fuzz`), none of which may cause a server error."""
    draw = random.Random(seed)
    with tiny_server(setup) as server:
        for _ in range(60):
            request = spoilt(draw)
            status = sent(server.port, request, draw)
            expect(not status.startswith("5"), "wrong answer", f"status {status}: {request[:300]!r}")
        server.check_health()
        server.end()
