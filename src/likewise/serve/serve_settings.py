"""ServeSettings: the limits and rules of a server, all in one place; the command line's flags are made from them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .budget import Budget

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Addresses that only this machine reaches."""


@dataclass(frozen=True)
class ServeSettings:
    """How a server listens, how much it takes in, and how it shares its engine among requests."""

    host: str = "127.0.0.1"
    port: int = 8080
    max_body: int = 32 << 20
    """Bytes of a request's body."""
    max_texts: int = 10_000
    """Texts of one request."""
    max_characters: int = 500_000
    """Characters of one text."""
    max_connections: int = 4096
    """Connections of a process. As many more are answered by 429 and closed; beyond these they are closed at once."""
    max_requests: int = 512
    """Requests that may wait or be computed at once, for each model; more are answered by 429."""
    max_waiting_texts: int = 20_000
    """Texts of all waiting requests of a model; a request that finds the queue empty is taken whatever its size."""
    deadline: float = 60.0
    """Seconds after which a request that waits is given up."""
    map_deadline: float = 300.0
    """Seconds that the map of a collection may take."""
    body_timeout: float = 20.0
    """Seconds in which a body has to arrive."""
    batch_tokens: int = 2048
    """Tokens computed together at most."""
    slice_seconds: float = 0.001
    """How long a large request may hold the engine at a time, while others come in."""
    model_memory: int | None = None
    """Bytes of weights kept loaded; None: no limit. Models that were not used for longest make room."""
    engine: str | None = None
    precision: str | None = None
    keys: Path | None = None
    """File of API keys; None: none are asked for."""
    log: Literal["all", "errors", "off"] = "all"
    """Which requests are logged."""
    traces: bool = False
    """Whether requests are exported as spans of OpenTelemetry (extra: traces)."""
    allowed_hosts: tuple[str, ...] = ()
    """Names in the Host header that are answered besides those of this machine; checked where there are no keys."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages (scheme://host:port) whose scripts may read answers; `*`: all."""
    drain_seconds: float = 30.0
    """How long a stopping server finishes what it has begun; its process ends 2 seconds later at the latest."""
    budget: Budget = field(default_factory=Budget)
    """The most that a process holds for its callers."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in LOOPBACK
