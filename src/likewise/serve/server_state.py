"""ServerState: what all requests of a server share: models, limits, and what is counted."""

import asyncio
from collections.abc import Iterable

from .batching.model_store import ModelStore
from .batching.model_thread import DeadlinePassed, QueueFull, ServerStopping
from .settings import ServeSettings
from .web.api_errors import ApiError
from .web.endpoint import ApiRoute
from .web.exchange import Exchange


class ServerState:
    """The server, as its endpoints see it."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.models = ModelStore(settings, self)
        self.is_stopping = False

    async def admit(self, exchange: Exchange, is_open: bool) -> None:
        """Check who asks."""

    def check_healthy(self) -> None:
        """Refuse while the server stops."""
        if self.is_stopping:
            raise ApiError("stopping", "the server is stopping")

    def translated(self, error: BaseException) -> ApiError | None:
        """Errors of the queues in HTTP's terms."""
        if isinstance(error, QueueFull):
            return ApiError(
                "overloaded", "too many requests are waiting; try again later", retry_after=error.retry_after
            )
        if isinstance(error, DeadlinePassed):
            return ApiError("deadline", str(error))
        if isinstance(error, ServerStopping):
            return ApiError("stopping", "the server is stopping")
        if isinstance(error, asyncio.CancelledError):
            return ApiError("client_gone", "the connection was closed")
        return None

    def common_headers(self, exchange: Exchange) -> Iterable[tuple[bytes, bytes]]:  # noqa: ARG002
        """Headers of every reply."""
        return ()

    def finished(self, exchange: Exchange, route: ApiRoute, status: int, error: BaseException | None) -> None:
        """Count and log a request."""

    def observe_batch(self, inputs: int, tokens: int, seconds: float) -> None:
        """Count a batch."""

    async def close(self) -> None:
        """Finish what waits."""
        self.is_stopping = True
        await self.models.close(self.settings.drain_seconds)
