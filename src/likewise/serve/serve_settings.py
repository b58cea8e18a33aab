"""ServeSettings: the limits and rules of a server in one place; the command-line flags are generated from them."""

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
    """Maximum size of a request body in bytes."""
    max_texts: int = 10_000
    """Maximum number of texts per request."""
    max_characters: int = 500_000
    """Maximum number of characters per text."""
    max_connections: int = 4096
    """Maximum connections per process. As many again get a 429 and are closed; any others are closed immediately."""
    max_requests: int = 512
    """Maximum number of requests waiting or being computed per model; further requests get a 429."""
    max_waiting_texts: int = 20_000
    """Maximum number of texts in a model's queue; an empty queue accepts a request of any size."""
    deadline: float = 60.0
    """Maximum duration of a request in seconds, including its time in the queue."""
    map_deadline: float = 300.0
    """Maximum seconds for computing the map of a collection."""
    body_timeout: float = 20.0
    """Seconds within which the body of a request must arrive."""
    batch_tokens: int = 2048
    """Maximum number of tokens in a batch."""
    slice_seconds: float = 0.001
    """How many seconds a large request may hold the engine at a time while other requests arrive."""
    model_memory: int | None = None
    """Maximum bytes of loaded weights; beyond it, the least recently used models are unloaded. None: no limit."""
    engine: str | None = None
    precision: str | None = None
    allow: str | None = None
    """`"int8"`: models may search vectors computed in another precision, even if one of the two precisions is int8."""
    keys: Path | None = None
    """The file with the API keys; None: no key is required."""
    workers: int = 1
    """Number of processes that share the port; each grants an equal part of an API key's rate limit."""
    log: Literal["all", "errors", "off"] = "all"
    """Which requests are logged."""
    traces: bool = False
    """Whether requests are exported as OpenTelemetry spans (extra: traces)."""
    allowed_hosts: tuple[str, ...] = ()
    """Names accepted in the Host header in addition to this machine's; only checked if no API keys are used."""
    allowed_origins: tuple[str, ...] = ()
    """Origins (scheme://host:port) whose scripts may read responses; `*`: all origins."""
    drain_seconds: float = 30.0
    """Seconds for which a stopping server may finish running requests; its process exits at most 2 seconds later."""
    budget: Budget = field(default_factory=Budget)
    """Limits on the memory that a process holds for its clients."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK
