"""Requests as spans of OpenTelemetry."""

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient

from likewise.serve import ServeSettings, create_app
from likewise.serve.tracing import RequestTraces

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_request_is_a_span_of_its_callers_trace():
    exporter = InMemorySpanExporter()
    app = create_app(["likewise-static"], settings=ServeSettings(log="off"))
    app.state.server.traces = RequestTraces(exporter)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        client.post("/embed", json={"inputs": ["a", "b"]}, headers={"traceparent": PARENT, "X-Request-Id": "mine"})
        client.post("/embed", json={})
    good, bad = exporter.get_finished_spans()
    assert good.name == "POST /embed"
    assert f"{good.context.trace_id:032x}" == PARENT.split("-")[1]
    assert good.attributes["likewise.inputs"] == 2
    assert good.attributes["likewise.request_id"] == "mine"
    assert (good.attributes["http.response.status_code"], bad.attributes["http.response.status_code"]) == (200, 422)
    assert good.end_time > good.start_time
