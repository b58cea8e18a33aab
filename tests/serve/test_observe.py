"""What a server tells of itself: histograms as Prometheus reads them, live load, the log."""

import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette")

from likewise.serve.batching import Job
from likewise.serve.observe import DURATIONS, KEPT, Histogram, LiveLoad, Metrics, RequestLog
from likewise.serve.routes.computing import timing_headers
from likewise.serve.web.exchange import Exchange


@given(values=st.lists(st.floats(0, 50), max_size=60))
def test_a_histogram_counts_as_a_loop_would(values):
    histogram = Histogram(DURATIONS)
    for value in values:
        histogram.observe(value)
    lines = [*histogram.lines("x")]
    for bound, line in zip((*DURATIONS, float("inf")), lines, strict=False):
        assert int(line.rpartition(" ")[2]) == sum(value <= bound for value in values)
    assert float(lines[-2].rpartition(" ")[2]) == pytest.approx(sum(values))
    assert lines[-1] == f"x_count {len(values)}"


def test_requests_are_the_sum_of_their_kinds():
    metrics = Metrics()
    metrics.observe_request("embed", 0.5, Job("abc", tokenization=0.125, inference=0.25, total=0.5))
    metrics.observe_request("rerank", 0.25, Job("a", total=0.25))
    metrics.observe_batch(3, 40)
    text = metrics.text({"te_queue_size": 2})
    for line in (
        "te_queue_size 2",
        'te_request_count{method="batch"} 1',
        'te_request_success{method="single"} 1',
        "te_embed_count 3",
        "te_request_duration_sum 0.75",
        "te_request_duration_count 2",
        "te_rerank_duration_count 1",
        "te_embed_tokenization_duration_sum 0.125",
        "te_embed_inference_duration_sum 0.25",
        "te_request_queue_duration_sum 0.375",
        'te_embed_duration_bucket{le="0.252512"} 0',
        'te_request_duration_bucket{le="0.252512"} 1',
        "te_batch_next_size_sum 3.0",
        "te_batch_next_tokens_sum 40.0",
        "# TYPE te_queue_size gauge",
        "# TYPE te_embed_count counter",
        "# HELP te_embed_duration te embed duration",
        "# TYPE te_embed_duration histogram",
    ):
        assert f"\n{line}\n" in f"\n{text}"


def test_latencies_are_those_of_good_answers():
    load = LiveLoad()
    assert load.as_json()["latency_ms"] == {"p50": None, "p90": None, "p99": None}
    for milliseconds in range(1, 101):
        load.observe_request(milliseconds / 1e3, 200)
    load.observe_request(9.0, 429)
    load.observe_batch(8, 100, 0.01)
    found = load.as_json()
    expected = np.percentile(np.arange(1, 101), [50, 90, 99], method="higher")
    np.testing.assert_allclose([found["latency_ms"][name] for name in ("p50", "p90", "p99")], expected, atol=1)
    assert found["batches"]["largest"] == 8
    assert found["refused_per_second"] > 0


@pytest.fixture
def clock(monkeypatch):
    """The time, in a list."""
    found = [1000.0]
    for name in ("time", "monotonic"):
        monkeypatch.setattr(f"likewise.serve.observe.time.{name}", lambda: found[0])
    return found


def test_live_load_is_of_the_last_half_minute(clock):
    load = LiveLoad()
    for seconds in (0, 75, 10):  # so long after the one before
        clock[0] += seconds
        load.observe_request(0.1, 400)
        load.observe_batch(6, 30, 3.0)
    clock[0] += 20  # the second is just in
    found = load.as_json()
    assert (found["seconds"], found["uptime"]) == (30, 105)
    assert found["requests_per_second"] == found["refused_per_second"] == found["batches"]["per_second"] == 2 / 30
    assert (found["inputs_per_second"], found["tokens_per_second"], found["batches"]["busy"]) == (12 / 30, 2, 0.2)


def test_on_a_busy_server_the_window_is_that_of_the_kept_events(clock):
    load = LiveLoad()
    for number in range(3 * KEPT):  # 1,000 a second: the last ones are those of one second
        clock[0] = 1000 + number / 1000
        load.observe_request(0.001 if number < 2 * KEPT else 0.002, 200)
        if number % 2:
            load.observe_batch(4, 8, 0.001)
    found = load.as_json()
    assert found["seconds"] == round(KEPT / 1000, 1)
    assert found["requests_per_second"] == pytest.approx(1000, rel=0.01)
    assert found["batches"]["per_second"] == pytest.approx(500, rel=0.01)
    assert found["tokens_per_second"] == pytest.approx(4000, rel=0.01)
    assert found["latency_ms"] == {"p50": 2, "p90": 2, "p99": 2}


def test_lines_of_the_log_are_json_whatever_they_hold(capsys):
    log = RequestLog()
    log.line("info", {"text": 'a "quoted"\nline', "half": "\ud800"})
    log.flush()
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["text"] == 'a "quoted"\nline'


def test_headers_of_times_are_in_milliseconds():
    exchange = object.__new__(Exchange)
    exchange.began = time.perf_counter() - 2
    job = Job(["a"], tokens=5, tokenization=0.25, inference=0.5, total=1.0)
    found = dict(timing_headers(exchange, job, 7))
    names = (b"x-queue-time", b"x-tokenization-time", b"x-inference-time", b"x-compute-characters", b"x-compute-tokens")
    assert [int(found[name]) for name in names] == [250, 250, 500, 7, 5]
    assert 2000 <= int(found[b"x-total-time"]) < 60_000
