"""Routes for operators: health, metrics and live load."""

from functools import partial

from ... import __version__
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply
from .computing import OBJECT


def operation_routes(settings: ServeSettings) -> list[ApiRoute]:  # noqa: ARG001, one signature for all
    get, about = partial(ApiRoute, "GET"), "Whether the server accepts requests"
    return [
        get("/health", health, about, "tei", answer=OBJECT, is_open=True),
        get("/ping", health, about, "tei", answer=OBJECT, is_open=True),
        get("/metrics", metrics, "Metrics in the Prometheus text format", "tei"),
        get("/openapi.json", openapi, "This document", answer=OBJECT, is_open=True),
        get("/status", status, "Live load: throughput, queues, batches and latencies", answer=OBJECT),
    ]


async def health(exchange: Exchange) -> Reply:
    """Report that the server accepts requests, or fail if it is stopping."""
    if exchange.server.is_stopping:
        raise ApiError("stopping", "the server is stopping")
    return Reply({"status": "ok"})


async def metrics(exchange: Exchange) -> Reply:
    text = exchange.server.metrics.text({"te_queue_size": _waiting(exchange)})
    return Reply(text.encode(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def openapi(exchange: Exchange) -> Reply:
    return Reply(exchange.server.openapi)


async def status(exchange: Exchange) -> Reply:
    """Return the load over the last half minute."""
    models = [
        {
            "name": served.name,
            "kind": served.kind,
            "loaded": served.thread is not None,
            "bytes": served.size,
            "waiting_requests": served.thread.waiting_requests if served.thread else 0,
            "waiting_inputs": served.thread.waiting_inputs if served.thread else 0,
            "precision": served.model.precision if served.model else None,
        }
        for served in exchange.server.models
    ]
    load = exchange.server.load.as_json()
    held = exchange.server.memory.as_json()
    return Reply({"version": __version__, "queue": _waiting(exchange), "models": models, "held": held, **load})


def _waiting(exchange: Exchange) -> int:
    return sum(served.thread.waiting_requests for served in exchange.server.models if served.thread is not None)
