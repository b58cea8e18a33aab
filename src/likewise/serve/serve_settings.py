"""ServeSettings: the limits and rules of a server in one place; the command-line flags are made from them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .budget import Budget

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Addresses that only this machine can reach."""


@dataclass(frozen=True)
class ServeSettings:
    """How a server listens, how much it accepts, and how it shares its engine among requests."""

    host: str = "127.0.0.1"
    port: int = 8080
    max_body: int = 32 << 20
    """Most bytes of a request's body."""
    max_texts: int = 10_000
    """Most texts per request."""
    max_characters: int = 500_000
    """Most characters per text."""
    max_connections: int = 4096
    """Connections per process. As many more are answered with 429 and closed; any beyond are closed at once."""
    max_requests: int = 512
    """Requests waiting or being computed per model; more are answered with 429."""
    max_waiting_texts: int = 20_000
    """Texts of all waiting requests of a model; if the queue is empty, a request of any size is accepted."""
    deadline: float = 60.0
    """Seconds that a request may take, waiting included."""
    map_deadline: float = 300.0
    """Seconds that the map of a collection may take."""
    body_timeout: float = 20.0
    """Seconds in which a body must arrive."""
    batch_tokens: int = 2048
    """Most tokens computed together."""
    slice_seconds: float = 0.001
    """How long a large request may hold the engine at a time while other requests arrive."""
    model_memory: int | None = None
    """Most bytes of loaded weights; None: no limit. The least recently used models are unloaded."""
    engine: str | None = None
    precision: str | None = None
    keys: Path | None = None
    """The file of API keys; None: no keys are required."""
    log: Literal["all", "errors", "off"] = "all"
    """Which requests are logged."""
    traces: bool = False
    """Whether requests are exported as spans of OpenTelemetry (extra: traces)."""
    allowed_hosts: tuple[str, ...] = ()
    """Host header names accepted besides this machine's; checked if there are no keys."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages (scheme://host:port) whose scripts may read answers; `*`: all."""
    drain_seconds: float = 30.0
    """How long a stopping server may finish running requests; its process ends at most 2 seconds later."""
    budget: Budget = field(default_factory=Budget)
    """Limits on what a process holds for its callers."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK
