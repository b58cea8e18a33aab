"""create_app: the server as an ASGI application, which loads no model and opens no collection before startup."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .. import __version__
from ..runtime.installation import missing_extra
from .admission import Admission
from .budget import Memory
from .model_store import ModelStore, loaders
from .observe import LiveLoad, Metrics, RequestLog
from .page.page_routes import page_routes
from .routes.collections import collection_routes
from .routes.insights import insight_routes
from .routes.model_card import model_card_routes
from .routes.openai import openai_routes
from .routes.operations import operation_routes
from .routes.predict import predict_routes
from .routes.rerank import rerank_routes
from .routes.tei import tei_routes
from .routes.tokens import token_routes
from .serve_settings import ServeSettings
from .web.api_errors import ApiError
from .web.endpoint import ApiRoute, Deadlines, Endpoint
from .web.exchange import Exchange, Receive, Reply, Scope, Send, json_bytes
from .web.openapi_document import openapi_document

if TYPE_CHECKING:
    from .collection_store import CollectionStore

Models = Sequence[Any] | Mapping[str, Any]
CLOSE_SECONDS = 0.5
"""Seconds within which the models' threads must notice that no request is waiting any more."""


def create_app(
    models: Models = ("likewise-mini",),
    *,
    rerankers: Models = (),
    collections: str | Path | None = None,
    settings: ServeSettings | None = None,
) -> "ServerApplication":
    """Create the application that serves these models.

    Args:
        models: names or folders of embedders (`NAME=FOLDER` serves the embedder under another name), loaded embedders,
            or a mapping from names to any of these. The first is loaded at startup, the others on first use.
        rerankers: the rerankers to serve, in the same forms as `models`.
        collections: a folder that contains the collections to search (created by `likewise index add`).
        settings: the server's limits and rules.
    """
    chosen = settings or ServeSettings()
    server = ServerState(chosen, None if collections is None else Path(collections))
    for name, load in loaders(models, "embedder", chosen):
        server.models.add(name, "embedder", load)
    for name, load in loaders(rerankers, "reranker", chosen):
        server.models.add(name, "reranker", load)
    return ServerApplication(server)


def api_routes(settings: ServeSettings) -> list[ApiRoute]:
    """Return all routes of the server, the most frequently requested first."""
    tables = (openai_routes, tei_routes, rerank_routes, predict_routes, token_routes, collection_routes, insight_routes)
    return [route for table in (*tables, operation_routes, model_card_routes, page_routes) for route in table(settings)]


class ServerState:
    """The state that all requests of a server share: models, limits and metrics."""

    def __init__(self, settings: ServeSettings, collections: Path | None = None) -> None:
        self.settings, self.process_name, self.is_stopping = settings, secrets.token_hex(4), False
        self.memory, self.deadlines = Memory(settings.budget, settings.max_body), Deadlines()
        self.models = ModelStore(settings, self.observe_batch)
        self._folder = collections
        self.metrics, self.load, self.log = Metrics(), LiveLoad(), RequestLog(settings.log)
        self.admission = Admission(settings)
        self.traces = _traces() if settings.traces else None
        self.routes = api_routes(settings)
        self._loop: asyncio.AbstractEventLoop | None = None

    @cached_property
    def collections(self) -> "CollectionStore":
        """The collections; the search modules are imported on first use, because importing them takes a while."""
        from .collection_store import CollectionStore

        return CollectionStore(self._folder, self.models, self.settings)

    @cached_property
    def openapi(self) -> bytes:
        """The OpenAPI document, cached because generating it takes longer than most requests."""
        return json_bytes(openapi_document(self.routes, __version__))

    def record(self, exchange: Exchange, path: str, status: int, error: BaseException | None) -> float:
        """Log and trace a finished request; returns its duration in seconds."""
        seconds = time.perf_counter() - exchange.began
        self.log.request(exchange, status, seconds, error)
        if self.traces is not None:
            self.traces.request(exchange, path, status, seconds)
        return seconds

    def finished(self, exchange: Exchange, route: ApiRoute, status: int, error: BaseException | None) -> None:
        seconds = self.record(exchange, route.path, status, error)
        if route.measured_as is not None:
            self.load.observe_request(seconds, status)
            if error is not None or exchange.job is None:
                reason = error.name if isinstance(error, ApiError) else type(error).__name__
                self.metrics.counters["te_request_failure"][f'err="{reason}"'] += 1
            else:
                self.metrics.observe_request(route.measured_as, seconds, exchange.job)

    def observe_batch(self, inputs: int, tokens: int, seconds: float) -> None:
        self.load.observe_batch(inputs, tokens, seconds)
        self.metrics.observe_batch(inputs, tokens)

    async def start(self) -> None:
        """Load the first model, after unloading all models that an earlier run of the application has loaded."""
        self._loop, self.is_stopping, self.deadlines = asyncio.get_running_loop(), False, Deadlines()
        for served in self.models:
            served.unload()
        for served in [*self.models][:1]:  # a server may serve only collections
            await self.models.load(served)

    def reload_soon(self) -> None:
        """Schedule a reload of the loaded models; called by a signal handler."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self._reload()))

    async def _reload(self) -> None:
        for served in [one for one in self.models if one.thread is not None]:
            try:
                await self.models.replace(served.name)
                self.log.line("info", {"message": f"{served.name} was reloaded"})
            except Exception as error:
                about = f"{served.name} could not be reloaded, so the old version stays in use: {error}"
                self.log.line("error", {"message": about})

    async def close(self) -> None:
        """Stop the models and close everything; all requests have already finished or been cancelled."""
        self.is_stopping = True
        await self.models.close(CLOSE_SECONDS)
        if "collections" in vars(self):
            self.collections.close()
        self.log.flush()
        if self.traces is not None:
            await asyncio.to_thread(self.traces.close)


def _traces() -> Any:
    """Create the exporter of OpenTelemetry spans."""
    try:
        from .tracing import RequestTraces
    except ModuleNotFoundError:
        raise missing_extra("opentelemetry-sdk", "traces", "exporting traces") from None
    return RequestTraces()


class ServerApplication(Starlette):  # type: ignore[misc]
    """Starlette with a fast path for routes without path parameters: one dictionary lookup leads to the endpoint.

    Starlette's own routing (middleware, a list of patterns, wrapped handlers) takes longer than the rest of a request.
    """

    def __init__(self, server: ServerState) -> None:
        endpoints = [(route, Endpoint(route, server)) for route in server.routes]
        routes = [Route(route.path, endpoint, methods=[route.method]) for route, endpoint in endpoints]
        handlers = dict.fromkeys((404, 405), _not_served)
        super().__init__(routes=routes, lifespan=_lifespan, exception_handlers=handlers)
        self.router.redirect_slashes = False  # a redirect would echo the host name that the client sent
        self.state.server, self.state.failure = server, None
        self._direct = {(r.method, r.path): endpoint for r, endpoint in endpoints if "{" not in r.path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or handle the lifespan events."""
        endpoint = self._direct.get((scope.get("method", ""), scope.get("path", "")))
        if endpoint is not None and scope["type"] == "http":
            await endpoint(scope, receive, send)
            return
        with suppress(ConnectionError):  # a disconnected client needs no response
            if scope.get("method") == "OPTIONS":
                await self._answer_preflight(scope, receive, send)
            else:
                await super().__call__(scope, receive, send)

    async def _answer_preflight(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, self.state.server)
        given = exchange.headers
        origin, wanted = given.get(b"origin", b"").decode("latin-1"), given.get(b"access-control-request-headers", b"")
        headers = self.state.server.admission.preflight_headers(origin, wanted) if origin else None
        response = Response(status_code=204 if headers else 403)
        response.raw_headers += ((b"x-request-id", exchange.request_id.encode()), *(headers or ()))
        await response(scope, receive, send)
        self.state.server.record(exchange, "preflight", response.status_code, None)


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    try:
        await app.state.server.start()
    except Exception as error:
        app.state.failure = error
        raise
    yield
    await app.state.server.close()


async def _not_served(request: Request, error: HTTPException) -> Endpoint:
    """Respond to an unknown path or method with an error in OpenAI's format, and log the request."""
    kind = "not_found" if error.status_code == 404 else "method"
    about = "there is no such route" if kind == "not_found" else "this route does not support this method"
    where, allow = f"{request.method} {request.scope['path'][:200]}", (error.headers or {}).get("Allow")

    async def reject(_: Exchange) -> Reply:
        raise ApiError(kind, f"{where}: {about}; /openapi.json lists all routes", allow=allow)

    return Endpoint(ApiRoute(request.method, "unknown", reject, about, is_open=True), request.app.state.server)
