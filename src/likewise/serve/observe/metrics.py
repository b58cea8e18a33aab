"""Counters and histograms under the names of text-embeddings-inference, as Prometheus reads them."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ..batching.job import Timings

DURATIONS = tuple(1e-5 * 1.5**power for power in range(1, 36))
"""Seconds; TEI's own bounds."""
SIZES = tuple(float(1 << power) for power in range(13))
TOKENS = tuple(float(1 << power) for power in range(21))
ABOUT = {
    "te_request_count": "Requests by kind: one input or several",
    "te_request_success": "Requests that were answered",
    "te_request_failure": "Requests that were refused or failed, by reason",
    "te_request_duration": "Seconds from the first byte to the answer",
    "te_request_tokenization_duration": "Seconds of tokenization of a request",
    "te_request_queue_duration": "Seconds that a request waited",
    "te_request_inference_duration": "Seconds of the batches that a request had a part in",
    "te_request_input_length": "Tokens of an input",
    "te_embed_count": "Inputs of embedding requests",
    "te_embed_success": "Inputs that were embedded",
    "te_rerank_count": "Documents of reranking requests",
    "te_rerank_success": "Documents that were scored",
    "te_queue_size": "Requests that wait or are computed",
    "te_batch_next_size": "Inputs of a batch",
    "te_batch_next_tokens": "Tokens of a batch",
}


SINGLE, BATCH = 'method="single"', 'method="batch"'
KINDS = ("embed", "rerank")
PARTS = ("", "_tokenization", "_queue", "_inference")
"""Of a request's duration: all of it, and where it goes."""


class Histogram:
    """How often values were at most each bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    @staticmethod
    def total(parts: Sequence["Histogram"]) -> "Histogram":
        """The sum of histograms of the same bounds."""
        found = Histogram(parts[0].bounds)
        found.counts = [sum(counts) for counts in zip(*(part.counts for part in parts), strict=True)]
        found.sum = sum(part.sum for part in parts)
        return found

    def lines(self, name: str) -> Iterator[str]:
        """In Prometheus' text format."""
        total = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{_bound(bound)}"}} {total}'
        yield f"{name}_sum {self.sum!r}"
        yield f"{name}_count {total}"


class Metrics:
    """What one process has counted since it started."""

    def __init__(self) -> None:
        self.counters: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.histograms: dict[str, Histogram] = {}
        self._durations: dict[str, list[Histogram]] = {}
        self.histograms["te_batch_next_size"] = Histogram(SIZES)
        self.histograms["te_batch_next_tokens"] = Histogram(TOKENS)
        self.histograms["te_request_input_length"] = Histogram(TOKENS)

    def count(self, name: str, label: str = "", times: float = 1) -> None:
        """Add to a counter; `label` is as Prometheus writes it: `method="single"`."""
        self.counters[name][label] += times

    def observe_request(self, kind: str, inputs: int, total: float, timings: Timings) -> None:
        """Note an answered request of a kind, and its parts; `te_request_…` is the sum over kinds."""
        self.count("te_request_count", SINGLE if inputs == 1 else BATCH)
        self.count(f"te_{kind}_count", times=inputs)
        found = self._durations.get(kind)
        if found is None:
            names = [f"te_{kind}{part}_duration" for part in PARTS]
            found = self._durations[kind] = [self.histograms.setdefault(name, Histogram(DURATIONS)) for name in names]
        parts = (total, timings.tokenization, timings.queue, timings.inference)
        for histogram, seconds in zip(found, parts, strict=True):
            histogram.observe(seconds)

    def _derived(self) -> tuple[dict[str, dict[str, float]], dict[str, Histogram]]:
        """All counters and histograms, those that follow from others among them."""
        counters, histograms = dict(self.counters), dict(self.histograms)
        for name in ("te_request", *(f"te_{kind}" for kind in KINDS)):
            if f"{name}_count" in counters:  # what is counted was answered
                counters[f"{name}_success"] = counters[f"{name}_count"]
        for part in PARTS:
            of_kinds = [histograms[name] for kind in KINDS if (name := f"te_{kind}{part}_duration") in histograms]
            if of_kinds:
                histograms[f"te_request{part}_duration"] = Histogram.total(of_kinds)
        return counters, histograms

    def text(self, gauges: Mapping[str, float]) -> str:
        """Everything in Prometheus' text format."""
        lines: list[str] = []
        for name, value in gauges.items():
            lines += [*_head(name, "gauge"), f"{name} {value}"]
        counters, histograms = self._derived()
        for name, labelled in sorted(counters.items()):
            lines += _head(name, "counter")
            lines += [
                f"{name}{{{label}}} {value:g}" if label else f"{name} {value:g}" for label, value in labelled.items()
            ]
        for name, histogram in sorted(histograms.items()):
            lines += [*_head(name, "histogram"), *histogram.lines(name)]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str) -> list[str]:
    return [f"# HELP {name} {ABOUT.get(name, name.replace('_', ' '))}", f"# TYPE {name} {kind}"]


def _bound(value: float) -> str:
    return "+Inf" if value == float("inf") else f"{value:.6g}"
