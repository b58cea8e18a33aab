"""OpenTelemetry traces: a span for each request, with the data of its log line.

OpenTelemetry's own environment variables (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME …) configure the export. A
request with a `traceparent` header joins its caller's trace.
"""

import time

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .web.exchange import Exchange

SERVICE = "likewise"


class RequestTraces:
    """Creates spans for finished requests."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        resource = Resource.create({"service.name": SERVICE}).merge(Resource.create())
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer(SERVICE)
        self._context = TraceContextTextMapPropagator()

    def request(self, exchange: Exchange, path: str, status: int, seconds: float) -> None:
        end = time.time_ns()
        names = [name for name in self._context.fields if name.encode() in exchange.headers]
        given = {name: exchange.headers[name.encode()].decode("latin-1") for name in names}
        attributes = {
            "http.request.method": exchange.scope["method"],
            "http.route": path,
            "http.response.status_code": status,
            "likewise.request_id": exchange.request_id,
            **{f"likewise.{name}": value for name, value in exchange.notes.items()},
        }
        if exchange.job is not None:
            for part in ("tokenization", "queue", "inference"):
                attributes[f"likewise.{part}_seconds"] = getattr(exchange.job, part)
        span = self._tracer.start_span(
            f"{exchange.scope['method']} {path}",
            context=self._context.extract(given),
            kind=trace.SpanKind.SERVER,
            start_time=end - int(1e9 * seconds),
            attributes=attributes,
        )
        if status >= 500:
            span.set_status(trace.StatusCode.ERROR)
        span.end(end)

    def close(self) -> None:
        self._provider.shutdown()
