"""What a running server reports: metrics with the names that TEI uses, live load, and a request log."""

import os
import sys
import time
import traceback
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock, Timer
from typing import Any, Literal, NamedTuple, TypeVar

from .batching import Job
from .web.exchange import Exchange, json_bytes

DURATIONS = tuple(1e-5 * 1.5**power for power in range(1, 36))
"""Upper bounds of the histogram buckets in seconds, the same as in TEI."""
SIZES = tuple(float(1 << power) for power in range(13))
TOKENS = tuple(float(1 << power) for power in range(21))
ABOUT = {
    "te_request_count": "Requests by method: one input (single) or several (batch)",
    "te_request_success": "Requests that were answered successfully",
    "te_request_failure": "Requests that were rejected or failed, by reason",
    "te_request_duration": "Seconds from the arrival of a request to its response",
    "te_request_tokenization_duration": "Seconds spent tokenizing a request",
    "te_request_queue_duration": "Seconds that a request spent in the queue",
    "te_request_inference_duration": "Seconds spent computing the batches that contained a request",
    "te_embed_count": "Inputs in embedding requests",
    "te_embed_success": "Inputs that were embedded",
    "te_rerank_count": "Documents in reranking requests",
    "te_rerank_success": "Documents that were scored",
    "te_queue_size": "Requests that are waiting or being computed",
    "te_batch_next_size": "Inputs in a batch",
    "te_batch_next_tokens": "Tokens in a batch",
}
SINGLE, BATCH = 'method="single"', 'method="batch"'
PARTS = ("", "_tokenization", "_queue", "_inference")
"""Suffixes of metric names: the total duration of a request, and its parts."""


class Histogram:
    """Counts of values per bucket, and their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of the histogram in the Prometheus text format."""
        total = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{"+Inf" if bound == float("inf") else f"{bound:.6g}"}"}} {total}'
        yield f"{name}_sum {self.sum!r}"
        yield f"{name}_count {total}"


def observe(histograms: Sequence[Histogram], values: Sequence[float]) -> None:
    """Add a value to each histogram."""
    for histogram, value in zip(histograms, values, strict=True):
        histogram.counts[bisect_left(histogram.bounds, value)] += 1
        histogram.sum += value


class Metrics:
    """The counters and histograms of one process since its start.

    prometheus_client is not used because it names counters differently (`…_total`) and takes 2.5 times as long.
    """

    def __init__(self) -> None:
        self.counters: dict[str, Counter[str]] = defaultdict(Counter)
        """Counters by name and by label, in Prometheus notation: `method="single"`."""
        self._durations: dict[str, list[Histogram]] = {}
        self._sizes, self._tokens = Histogram(SIZES), Histogram(TOKENS)

    def observe_batch(self, inputs: int, tokens: int) -> None:
        """Record a batch; called on the models' threads."""
        observe((self._sizes, self._tokens), (inputs, tokens))

    def observe_request(self, kind: str, total: float, job: Job) -> None:
        inputs = len(job.inputs)
        self.counters["te_request_count"][SINGLE if inputs == 1 else BATCH] += 1
        self.counters[f"te_{kind}_count"][""] += inputs
        if kind not in self._durations:
            self._durations[kind] = [Histogram(DURATIONS) for _ in PARTS]
        observe(self._durations[kind], (total, job.tokenization, job.queue, job.inference))

    def _histograms(self) -> Iterator[tuple[str, Histogram]]:
        """Yield all histograms with their names; `te_request_…` sums over the kinds of request (embed, rerank)."""
        yield from (("te_batch_next_size", self._sizes), ("te_batch_next_tokens", self._tokens))
        for part, parts in zip(PARTS, zip(*self._durations.values(), strict=True), strict=False):
            total = Histogram(DURATIONS)
            total.counts = [sum(counts) for counts in zip(*(one.counts for one in parts), strict=True)]
            total.sum = sum(one.sum for one in parts)
            yield f"te_request{part}_duration", total
            yield from ((f"te_{kind}{part}_duration", one) for kind, one in zip(self._durations, parts, strict=True))

    def text(self, gauges: Mapping[str, float]) -> str:
        counters = dict(self.counters)
        for name in ("te_request", "te_embed", "te_rerank"):
            if f"{name}_count" in counters:  # only answered requests are counted
                counters[f"{name}_success"] = counters[f"{name}_count"]
        rows = [(name, "gauge", [f"{name} {value}"]) for name, value in gauges.items()]
        for name, labelled in sorted(counters.items()):
            lines = [f"{name}{f'{{{label}}}' if label else ''} {value}" for label, value in labelled.items()]
            rows.append((name, "counter", lines))
        rows += [(name, "histogram", [*histogram.lines(name)]) for name, histogram in sorted(self._histograms())]
        text = []
        for name, kind, lines in rows:
            text += [f"# HELP {name} {ABOUT.get(name, name.replace('_', ' '))}", f"# TYPE {name} {kind}", *lines]
        return "\n".join(text) + "\n"


WINDOW = 30.0
"""The longest time window, in seconds."""
KEPT = 1_000
"""Number of requests and batches to keep: on a busy server, they cover a shorter window, so statistics stay cheap."""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class AnsweredRequest(NamedTuple):
    """An answered request: the time of the response, the duration and the status."""

    at: float
    seconds: float
    status: int


class ComputedBatch(NamedTuple):
    """A computed batch: the time, the numbers of inputs and tokens, and the duration."""

    at: float
    inputs: int
    tokens: int
    seconds: float


Event = TypeVar("Event", AnsweredRequest, ComputedBatch)


class LiveLoad:
    """A server's current load, from the latest requests and batches; `observe_batch` is called on models' threads."""

    def __init__(self) -> None:
        self.began = time.time()
        self._requests: deque[AnsweredRequest] = deque(maxlen=KEPT)
        self._batches: deque[ComputedBatch] = deque(maxlen=KEPT)

    def observe_request(self, seconds: float, status: int) -> None:
        self._requests.append(AnsweredRequest(time.monotonic(), seconds, status))

    def observe_batch(self, inputs: int, tokens: int, seconds: float) -> None:
        self._batches.append(ComputedBatch(time.monotonic(), inputs, tokens, seconds))

    def as_json(self) -> dict[str, Any]:
        """Return statistics of the time window; latencies are in milliseconds, or null if there were no requests."""
        requests, span = self._recent(self._requests)
        batches, batch_span = self._recent(self._batches)
        times = [1e3 * one.seconds for one in requests if one.status < 400]
        return {
            "seconds": round(span, 1),
            "uptime": round(time.time() - self.began, 1),
            "process": os.getpid(),
            "requests_per_second": len(requests) / span,
            "inputs_per_second": sum(one.inputs for one in batches) / batch_span,
            "tokens_per_second": sum(one.tokens for one in batches) / batch_span,
            "refused_per_second": sum(one.status >= 400 for one in requests) / span,
            "latency_ms": {name: _quantile(times, share) for name, share in QUANTILES.items()},
            "batches": {
                "per_second": len(batches) / batch_span,
                "inputs": _quantile([float(one.inputs) for one in batches], 0.5),
                "tokens": _quantile([float(one.tokens) for one in batches], 0.5),
                "largest": max((one.inputs for one in batches), default=None),
                "busy": min(1.0, sum(one.seconds for one in batches) / batch_span),
            },
        }

    def _recent(self, kept: deque[Event]) -> tuple[list[Event], float]:
        """Return the events within the time window, and the length of the window in seconds."""
        events, now = list(kept), time.monotonic()  # copied, because a model's thread may append
        window = min(WINDOW, now - events[0].at) if len(events) == KEPT else min(WINDOW, time.time() - self.began)
        return [one for one in events if one.at >= now - window], max(1e-3, window)


def _quantile(values: list[float], share: float) -> float | None:
    """Return the value below which this fraction of the values lies; None for an empty list."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None


FLUSH_SECONDS = 0.25


class RequestLog:
    """Logs each request as a JSON line on standard error; lines are written in the background several times a second.

    The logging module is not used because, with a queue, it takes four times as much processor time per line.
    """

    def __init__(self, level: Literal["all", "errors", "off"] = "all") -> None:
        self.level = level
        self._lines: list[str] = []
        self._lock = Lock()
        self._timer: Timer | None = None

    def request(self, exchange: Exchange, status: int, seconds: float, error: BaseException | None) -> None:
        """Log a request if the log level includes it."""
        if self.level == "off" or (self.level == "errors" and status < 400):
            return
        asked = {"request": exchange.request_id, "method": exchange.scope["method"], "path": exchange.scope["path"]}
        line: dict[str, Any] = {**asked, "status": status, "ms": round(1e3 * seconds, 2), **exchange.notes}
        if exchange.job is not None:
            line["queue_ms"] = round(1e3 * exchange.job.queue, 2)
        if exchange.key_name:
            line["key"] = exchange.key_name
        if error is not None:
            line["error"] = str(error)[:500]
        if status >= 500 and error is not None:
            line["traceback"] = "".join(traceback.format_exception(error))[-4000:]
        self.line("error" if status >= 500 else "info", line)

    def line(self, level: str, values: Mapping[str, Any]) -> None:
        text = json_bytes({"time": round(time.time(), 3), "level": level, **values}).decode()
        with self._lock:
            self._lines.append(text)
            if self._timer is None:
                self._timer = Timer(FLUSH_SECONDS, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        with self._lock:
            lines, self._lines, self._timer = self._lines, [], None
        if lines:
            sys.stderr.write("\n".join(lines) + "\n")  # flushed by the final newline
