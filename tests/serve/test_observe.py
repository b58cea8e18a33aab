"""What a server tells of itself: histograms as Prometheus reads them, live load, the log."""

import json
import os
import sys
import time
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from likewise.errors import MissingExtra
from likewise.serve.batching import Job
from likewise.serve.observe import DURATIONS, KEPT, SIZES, TOKENS, Histogram, LiveLoad, Metrics, RequestLog, observe
from likewise.serve.routes.computing import timing_headers
from likewise.serve.web.exchange import Exchange
from tests.serve.conftest import HOST


@given(values=st.lists(st.floats(0, 50), max_size=60))
def test_a_histogram_counts_as_a_loop_would(values):
    histogram = Histogram(DURATIONS)
    for value in values:
        observe([histogram], [value])
    lines = [*histogram.lines("x")]
    for bound, line in zip((*DURATIONS, float("inf")), lines, strict=False):
        assert int(line.rpartition(" ")[2]) == sum(value <= bound for value in values)
    assert float(lines[-2].rpartition(" ")[2]) == pytest.approx(sum(values))
    assert lines[-1] == f"x_count {len(values)}"


def test_the_bounds_of_durations_are_those_of_tei_and_those_of_batches_double():
    np.testing.assert_allclose(DURATIONS, 1e-5 * np.cumprod([1.5] * 35), rtol=1e-12)
    assert tuple(2**power for power in range(13)) == SIZES and tuple(2**power for power in range(21)) == TOKENS
    assert [*Histogram((1.0, 2.5)).lines("x")] == [
        *('x_bucket{le="1"} 0', 'x_bucket{le="2.5"} 0', 'x_bucket{le="+Inf"} 0', "x_sum 0.0", "x_count 0")
    ]


def test_requests_are_the_sum_of_their_kinds():
    metrics = Metrics()
    metrics.observe_request("embed", 0.5, Job("abc", tokenization=0.125, inference=0.25, queue=0.125))
    metrics.observe_request("rerank", 0.25, Job("a", queue=0.25))
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
    np.testing.assert_allclose([found["latency_ms"][name] for name in ("p50", "p90", "p99")], expected)
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


def test_live_load_has_means_a_second_and_medians(clock):
    load = LiveLoad()
    for milliseconds in range(1, 301):
        load.observe_request(milliseconds / 1e3, 200)
    for status in (399, 400, 401, 500):
        load.observe_request(0.0005 if status == 399 else 0.301, status)
    for inputs in (1, 2, 5, 7):
        load.observe_batch(inputs, 10 * inputs, 0.5)
    clock[0] += 1.26
    found = load.as_json()
    assert found.pop("process") == os.getpid()
    latencies, batches = found.pop("latency_ms"), found.pop("batches")
    assert latencies == pytest.approx({"p50": 150, "p90": 270, "p99": 297})
    assert batches == pytest.approx({"per_second": 4 / 1.26, "inputs": 5, "tokens": 50, "largest": 7, "busy": 1})
    a_second = {"requests": 304, "refused": 3, "inputs": 15, "tokens": 150}
    expected = {f"{name}_per_second": count / 1.26 for name, count in a_second.items()}
    assert found == pytest.approx({"seconds": 1.3, "uptime": 1.3, **expected})


def test_a_server_that_has_just_begun_has_no_load(clock):
    found = LiveLoad().as_json()
    assert found["batches"] == {"per_second": 0, "inputs": None, "tokens": None, "largest": None, "busy": 0}
    assert (found["seconds"], found["uptime"], found["requests_per_second"]) == (0, 0, 0)


@pytest.mark.parametrize(("count", "seconds"), [(KEPT - 1, 20), (KEPT, 10), (KEPT + 1, 0)])
def test_the_window_begins_with_the_first_event_that_was_kept_if_some_may_have_been_forgotten(count, seconds, clock):
    load = LiveLoad()
    for number in range(count):
        clock[0] = 1010 if number == 0 else 1020
        load.observe_request(0.1, 200)
    assert load.as_json()["seconds"] == seconds


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


class ByHand:
    """A timer that rings when it is told to."""

    made: ClassVar[list["ByHand"]] = []

    def __init__(self, seconds, ring):
        self.seconds, self.ring, self.daemon, self.is_started = seconds, ring, False, False
        self.made.append(self)

    def start(self):
        self.is_started = True


def test_lines_are_written_together_soon_after_the_first(capsys, monkeypatch):
    monkeypatch.setattr(ByHand, "made", [])
    monkeypatch.setattr("likewise.serve.observe.Timer", ByHand)
    log = RequestLog()
    for number in range(3):
        log.line("info", {"number": number})
        if number != 1:
            continue
        (timer,) = ByHand.made
        assert timer.is_started and timer.daemon and timer.seconds <= 0.25
        assert capsys.readouterr().err == ""
        timer.ring()
        assert [json.loads(line)["number"] for line in capsys.readouterr().err.splitlines()] == [0, 1]
    assert len(ByHand.made) == 2
    ByHand.made[1].ring()
    ByHand.made[1].ring()
    assert json.loads(capsys.readouterr().err)["number"] == 2


def request_of(**more):
    given = {"request_id": "mine-1", "scope": {"method": "POST", "path": "/embed"}, "notes": {"model": "tiny"}}
    return SimpleNamespace(**{**given, "job": None, "key_name": None, **more})


def logged(capsys, *request, level="all"):
    """The lines of a log with one request."""
    log = RequestLog(level)
    log.request(*request)
    log.flush()
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_of_the_log_has_all_that_is_known_of_a_request(capsys, clock):
    clock[0] = 1234.56789
    plain = {"time": 1234.568, "level": "info", "request": "mine-1", "method": "POST", "path": "/embed"}
    plain |= {"status": 200, "ms": 12.35, "model": "tiny"}
    assert logged(capsys, request_of(), 200, 0.0123456, None) == [plain]
    job = Job(["a"], queue=0.0876543)
    known = request_of(job=job, key_name="alice")
    expected = {**plain, "status": 499, "queue_ms": 87.65, "key": "alice", "error": "x" * 500}
    assert logged(capsys, known, 499, 0.0123456, ValueError("x" * 600)) == [expected]
    (line,) = logged(capsys, known, 500, 0.0123456, ValueError("x" * 5000))
    assert line.pop("traceback") == "x" * 3999 + "\n"
    assert line == {**expected, "level": "error", "status": 500}
    assert "traceback" not in logged(capsys, known, 500, 0.1, None)[0]


@pytest.mark.parametrize(("level", "lines"), [("all", [1, 1, 1]), ("errors", [0, 1, 1]), ("off", [0, 0, 0])])
def test_a_log_has_all_requests_or_those_that_were_refused_or_failed(level, lines, capsys):
    statuses = (399, 400, 500)
    assert [len(logged(capsys, request_of(), status, 0.1, None, level=level)) for status in statuses] == lines


def test_every_request_has_an_id_and_a_line_in_the_log(app_of, capsys):
    requests = [("GET", "/nowhere", 404), ("PUT", "/embed", 405), ("DELETE", "/v1/collections/notes", 405)]
    requests += [("OPTIONS", "/embed", 403), ("OPTIONS", "/embed", 204)]
    with TestClient(app_of(log="all", allowed_origins=("https://mine.example",)), base_url=HOST) as client:
        for number, (method, path, status) in enumerate(requests):
            headers = {"X-Request-Id": f"mine-{number}"} | ({"Origin": "https://mine.example"} if status == 204 else {})
            response = client.request(method, path, headers=headers)
            assert (response.status_code, response.headers["x-request-id"]) == (status, f"mine-{number}")
            allowed = {*response.headers.get("allow", "").split(", ")}
            assert allowed == {"PUT": {"POST"}, "DELETE": {"GET", "HEAD"}}.get(method, {""})
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["method"], line["path"], line["status"]) for line in lines] == requests
    assert [line["request"] for line in lines] == [f"mine-{number}" for number in range(len(requests))]
    assert "there is no such route" in lines[0]["error"] and "does not support this method" in lines[1]["error"]


def test_requests_are_traced_if_the_settings_say_so(app_of, monkeypatch):
    spans, app = [], app_of()
    app.state.server.traces = SimpleNamespace(
        request=lambda exchange, *given: spans.append((exchange.scope["method"], *given)),
        close=lambda: spans.append("closed"),
    )
    with TestClient(app, base_url=HOST) as client:
        client.get("/health")
    (method, path, status, seconds), end = spans
    assert (method, path, status, end) == ("GET", "/health", 200, "closed") and 0 < seconds < 20
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "likewise.serve.tracing", raising=False)
    with pytest.raises(MissingExtra, match="exporting traces needs the package opentelemetry-sdk"):
        app_of(traces=True)


def test_headers_of_times_are_in_milliseconds():
    exchange = object.__new__(Exchange)
    exchange.began = time.perf_counter() - 2
    job = Job(["a"], tokens=5, tokenization=0.25, inference=0.5, queue=0.25)
    found = dict(timing_headers(exchange, job, 7))
    names = (b"x-queue-time", b"x-tokenization-time", b"x-inference-time", b"x-compute-characters", b"x-compute-tokens")
    assert [int(found[name]) for name in names] == [250, 250, 500, 7, 5]
    assert 2000 <= int(found[b"x-total-time"]) < 60_000
