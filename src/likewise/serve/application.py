"""create_app: the server as an ASGI application; nothing is loaded or opened before it starts."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .batching.model_store import loaders
from .serve_settings import ServeSettings
from .server_state import ServerState
from .web.api_errors import ERROR_SHAPES, ApiError
from .web.endpoint import Endpoint
from .web.exchange import Receive, Scope, Send, json_bytes

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]
Models = Sequence[Any] | Mapping[str, Any]


def create_app(
    models: Models = ("likewise-mini",),
    *,
    rerankers: Models = (),
    collections: str | Path | None = None,
    settings: ServeSettings | None = None,
) -> "ServerApplication":
    """The application that serves these models.

    Args:
        models: names or folders of embedders (`NAME=FOLDER` serves one under another name), or embedders; a mapping
            has them by the names to serve them under. The first is loaded when the server starts, the others when they
            are first asked for.
        rerankers: the same of rerankers.
        collections: a folder with collections in it (`likewise index add`), to be searched.
        settings: limits and rules.
    """
    chosen = settings or ServeSettings()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            await app.state.server.start()
        except Exception as error:
            app.state.failure = error
            raise
        yield
        await app.state.server.close()

    server = ServerState(chosen, None if collections is None else Path(collections))
    app = ServerApplication(server, lifespan)
    app.state.server, app.state.failure = server, None
    for name, load in loaders(models, "embedder", chosen):
        server.models.add(name, "embedder", load)
    for name, load in loaders(rerankers, "reranker", chosen):
        server.models.add(name, "reranker", load)
    return app


class ServerApplication(Starlette):  # type: ignore[misc]
    """Starlette, with a short way for paths without braces: a look-up, and the endpoint, which handles its own errors.

    Starlette's own way (middleware, a list of patterns, wrapped handlers) takes longer than all else of a request.
    """

    def __init__(self, server: ServerState, lifespan: Lifespan) -> None:
        endpoints = [(route, Endpoint(route, server)) for route in server.routes]
        routes = [Route(route.path, endpoint, methods=[route.method]) for route, endpoint in endpoints]
        super().__init__(routes=routes, lifespan=lifespan, exception_handlers=dict.fromkeys((404, 405), _not_served))
        self.router.redirect_slashes = False  # a redirect would name the host that the caller names
        self._admission = server.admission
        self._direct = {(r.method, r.path): endpoint for r, endpoint in endpoints if "{" not in r.path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or run the lifespan."""
        endpoint = self._direct.get((scope.get("method", ""), scope.get("path", "")))
        if endpoint is not None and scope["type"] == "http":
            await endpoint(scope, receive, send)
        else:
            with suppress(ConnectionError):  # a client that has gone needs no answer
                await self._answer_other(scope, receive, send)

    async def _answer_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("method") == "OPTIONS":
            await self._answer_preflight(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def _answer_preflight(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell a browser whether a page of another origin may ask."""
        origin = dict(scope["headers"]).get(b"origin", b"").decode("latin-1")
        headers = self._admission.preflight_headers(origin) if origin else None
        response = Response(status_code=204 if headers else 403)
        response.raw_headers += headers or ()
        await response(scope, receive, send)


async def _not_served(request: Request, error: HTTPException) -> Response:
    """An unknown path, or a known one by another method, in OpenAI's shape."""
    kind = "not_found" if error.status_code == 404 else "method"
    about = "there is no such route" if kind == "not_found" else "this route has another method"
    where = f"{request.method} {request.url.path[:200]}"
    status, body = ERROR_SHAPES["openai"].of(ApiError(kind, f"{where}: {about}; /openapi.json lists all of them"))
    return Response(json_bytes(body), status, error.headers, "application/json")
