"""create_app: the server as an ASGI application; nothing is loaded or opened before it starts."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route

from .batching.model_store import loaders
from .routes.route_table import api_routes
from .server_state import ServerState
from .settings import ServeSettings
from .web.endpoint import Endpoint

Models = Sequence[Any] | Mapping[str, Any]


def create_app(
    models: Models = ("likewise-mini",),
    *,
    rerankers: Models = (),
    collections: str | Path | None = None,
    settings: ServeSettings | None = None,
) -> Starlette:
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
        for served in [*app.state.server.models][:1]:
            await app.state.server.models.loaded(served.name, served.kind)
        yield
        await app.state.server.close()

    server = ServerState(chosen, None if collections is None else Path(collections))
    app = Starlette(routes=_routes(server), lifespan=lifespan)
    app.state.server = server
    for name, load in loaders(models, "embedder", chosen):
        server.models.add(name, "embedder", load)
    for name, load in loaders(rerankers, "reranker", chosen):
        server.models.add(name, "reranker", load)
    return app


def _routes(server: ServerState) -> list[Route]:
    return [Route(route.path, Endpoint(route, server), methods=[route.method]) for route in api_routes(server.settings)]
