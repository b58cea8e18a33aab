"""LiveLoad: what a server is doing right now: throughput, batch sizes and latencies of the last seconds."""

import os
import time
from collections import deque
from typing import Any, NamedTuple

WINDOW = 30.0
"""Seconds that are looked back at."""
KEPT = 20_000
"""Requests and batches that are remembered at most."""


class AnsweredRequest(NamedTuple):
    """When a request was answered, after how long, with which status, and how many inputs it had."""

    at: float
    seconds: float
    status: int
    inputs: int


class ComputedBatch(NamedTuple):
    """When a batch was computed, and its inputs, tokens and seconds."""

    at: float
    inputs: int
    tokens: int
    seconds: float


class LiveLoad:
    """The last requests and batches; `observe_batch` is called on models' threads."""

    def __init__(self) -> None:
        self.began = time.time()
        self._requests: deque[AnsweredRequest] = deque(maxlen=KEPT)
        self._batches: deque[ComputedBatch] = deque(maxlen=KEPT)

    def observe_request(self, seconds: float, status: int, inputs: int) -> None:
        """Note an answered request."""
        self._requests.append(AnsweredRequest(time.monotonic(), seconds, status, inputs))

    def observe_batch(self, inputs: int, tokens: int, seconds: float) -> None:
        """Note a batch."""
        self._batches.append(ComputedBatch(time.monotonic(), inputs, tokens, seconds))

    def as_json(self) -> dict[str, Any]:
        """The figures of the last seconds; latencies in milliseconds, null where nothing was asked."""
        since = time.monotonic() - WINDOW
        requests = [one for one in list(self._requests) if one.at >= since]
        batches = [one for one in list(self._batches) if one.at >= since]
        span = max(1e-3, min(WINDOW, time.time() - self.began))
        times = sorted(1e3 * one.seconds for one in requests if one.status < 400)
        return {
            "seconds": round(span, 1),
            "uptime": round(time.time() - self.began, 1),
            "process": os.getpid(),
            "requests_per_second": len(requests) / span,
            "inputs_per_second": sum(one.inputs for one in batches) / span,
            "tokens_per_second": sum(one.tokens for one in batches) / span,
            "refused_per_second": sum(one.status >= 400 for one in requests) / span,
            "latency_ms": {name: _quantile(times, share) for name, share in QUANTILES.items()},
            "batches": {
                "per_second": len(batches) / span,
                "inputs": _quantile(sorted(float(one.inputs) for one in batches), 0.5),
                "tokens": _quantile(sorted(float(one.tokens) for one in batches), 0.5),
                "largest": max((one.inputs for one in batches), default=None),
                "busy": min(1.0, sum(one.seconds for one in batches) / span),
            },
        }


QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def _quantile(ordered: list[float], share: float) -> float | None:
    """The value below which this share lies; None of nothing."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
