"""ServerState: what all requests of a server share: models, limits, and what is counted."""

import asyncio
import secrets
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..runtime.installation import missing_extra
from .access.admission import Admission
from .batching.job import Job
from .batching.model_store import ModelStore
from .batching.model_thread import DeadlinePassed, QueueFull, ServerStopping
from .budget import Memory
from .observe.live_load import LiveLoad
from .observe.metrics import Metrics
from .observe.request_log import RequestLog
from .routes.route_table import api_routes
from .serve_settings import ServeSettings
from .web.api_errors import ApiError
from .web.deadlines import Deadlines
from .web.endpoint import ApiRoute
from .web.exchange import Exchange

SURPLUS_SECONDS = 1.0
"""After which a refused connection may be tried again."""

CLOSE_SECONDS = 0.5
"""That models' threads may take to notice that nobody waits for them any more."""

if TYPE_CHECKING:
    from .access.api_keys import KeyRing
    from .collection_store import CollectionStore


class ServerState:
    """The server, as its endpoints see it."""

    def __init__(self, settings: ServeSettings, collections: Path | None = None) -> None:
        self.settings, self.process_name = settings, secrets.token_hex(4)
        self.memory = Memory(settings.budget, settings.max_body)
        self.deadlines = Deadlines()
        self.models = ModelStore(settings, self)
        self._folder = collections
        self.metrics, self.load, self.log = Metrics(), LiveLoad(), RequestLog(settings.log)
        self.admission = Admission(settings, _key_ring(settings))
        self.traces = _traces() if settings.traces else None
        self.routes: Sequence[ApiRoute] = api_routes(settings)
        self.is_stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None

    @cached_property
    def collections(self) -> "CollectionStore":
        """The collections; what searches them is imported when it is first asked for, since it takes a while."""
        from .collection_store import CollectionStore

        return CollectionStore(self._folder, self.models, self.settings)

    def admit(self, exchange: Exchange, is_open: bool) -> None:
        """Check who asks, and that there is room for another connection."""
        if exchange.is_surplus:
            raise ApiError("overloaded", "too many connections are open; try again later", retry_after=SURPLUS_SECONDS)
        self.admission.check(exchange, is_open)

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
        return None

    def common_headers(self, exchange: Exchange) -> Iterable[tuple[bytes, bytes]]:
        """Headers of every reply."""
        return self.admission.cors_headers(exchange)

    def finished(self, exchange: Exchange, route: ApiRoute, status: int, error: BaseException | None) -> None:
        """Count and log a request."""
        seconds = time.perf_counter() - exchange.began
        self.log.request(exchange, status, seconds, error)
        if self.traces is not None:
            self.traces.request(exchange, route.path, status, seconds)
        job = exchange.notes.get("job")
        if route.measured_as is not None:
            self.load.observe_request(seconds, status, exchange.notes.get("inputs", 0))
            self._count(route.measured_as, job, seconds, error)

    def _count(self, kind: str, job: Job | None, seconds: float, error: BaseException | None) -> None:
        """TEI's counters of one request."""
        if error is not None or job is None:
            reason = error.name if isinstance(error, ApiError) else type(error).__name__
            self.metrics.count("te_request_failure", f'err="{reason}"')
        else:
            self.metrics.observe_request(kind, len(job.inputs), seconds, job.timings)

    def observe_batch(self, inputs: int, tokens: int, seconds: float) -> None:
        """Count a batch; called on the models' threads."""
        self.load.observe_batch(inputs, tokens, seconds)
        self.metrics.histograms["te_batch_next_size"].observe(inputs)
        self.metrics.histograms["te_batch_next_tokens"].observe(tokens)

    async def start(self) -> None:
        """Load the first model."""
        self._loop = asyncio.get_running_loop()
        for served in [*self.models][:1]:
            await self.models.loaded(served.name, served.kind)

    def reload_soon(self) -> None:
        """Load the models again; for signals."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self._reload()))

    async def _reload(self) -> None:
        for served in [one for one in self.models if one.thread is not None]:
            try:
                await self.models.replace(served.name)
                self.log.line("info", {"message": f"{served.name} was loaded again"})
            except Exception as error:
                self.log.line("error", {"message": f"{served.name} was not loaded again and serves on: {error}"})

    async def close(self) -> None:
        """End what is left: requests were finished, or cancelled, before."""
        self.is_stopping = True
        await self.models.close(CLOSE_SECONDS)
        if "collections" in vars(self):
            self.collections.close()
        self.log.flush()
        if self.traces is not None:
            await asyncio.to_thread(self.traces.close)


def _key_ring(settings: ServeSettings) -> "KeyRing | None":
    if settings.keys is None:
        return None
    from .access.api_keys import KeyRing

    return KeyRing(settings.keys)


def _traces() -> Any:
    """Spans of requests, by OpenTelemetry.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        from .observe.tracing import RequestTraces
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        raise missing_extra("opentelemetry-sdk", "traces", "exporting traces") from None
    return RequestTraces()
