"""Admission control: check a request's host, origin, API key and rate limit before reading its body.

A server without API keys answers only requests whose Host header names this machine. This prevents DNS rebinding, in
which a web page points its own domain name at this machine. Scripts from other sites are rejected unless their origin
is allowed.
"""

import re
import time
from urllib.parse import urlsplit

from .api_keys import KeyRing
from .serve_settings import LOOPBACK, ServeSettings
from .web.api_errors import ApiError
from .web.exchange import RETRY_SECONDS, Exchange

Headers = tuple[tuple[bytes, bytes], ...]
SAFE: Headers = ((b"x-content-type-options", b"nosniff"),)
BURST_SECONDS = 10.0
"""Size of the burst that a key may send after a pause: this many seconds' worth of requests, but at least one."""


class Admission:
    def __init__(self, settings: ServeSettings) -> None:
        self._keys = None if settings.keys is None else KeyRing(settings.keys)
        self._rates, self._workers = RateLimits(), settings.workers
        self._checks_host = self._keys is None and settings.is_loopback
        self._hosts = {*LOOPBACK, "[::1]", *settings.allowed_hosts}
        self._origins = {*settings.allowed_origins}

    def check(self, exchange: Exchange, is_open: bool) -> None:
        """Reject unauthorized requests and requests on connections beyond the limit."""
        if exchange.connection is not None and exchange.connection.is_surplus:
            raise ApiError("overloaded", "too many connections are open; try again later", retry_after=RETRY_SECONDS)
        headers, lines = exchange.headers, exchange.scope["headers"]
        if len(lines) > len(headers) and sum(name == b"host" for name, _ in lines) > 1:
            raise ApiError("hosts", "the request has several Host headers; expected one (RFC 9112, section 3.2)")
        host, origin = headers.get(b"host", b"").decode("latin-1"), headers.get(b"origin")
        if self._checks_host and re.sub(r":\d*$", "", host) not in self._hosts:
            about = f"this server does not accept the host name {host[:80]!r}; allow it with --allow-host"
            raise ApiError("host", about)
        if origin is not None:
            self._check_origin(origin.decode("latin-1"), host)
        if self._keys is not None and not is_open:
            self._check_key(exchange, self._keys)

    def cors_headers(self, exchange: Exchange) -> Headers:
        """Return the headers of every response, plus CORS headers for allowed origins."""
        if not self._origins:
            return SAFE
        origin = exchange.headers.get(b"origin")
        if origin is None or not self._allows(origin.decode("latin-1")):
            return (*SAFE, (b"vary", b"origin"))
        # `*` exposes all headers, because the server does not allow requests with cookies
        exposed = (b"access-control-expose-headers", b"*")
        return (*SAFE, (b"vary", b"origin"), (b"access-control-allow-origin", origin), exposed)

    def preflight_headers(self, origin: str, wanted: bytes) -> Headers | None:
        """Return CORS preflight headers that allow the requested headers, or None if the origin is not allowed."""
        if not self._allows(origin):
            return None
        return (
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", wanted),  # clients add headers, such as OpenAI's x-stainless-…
            (b"access-control-max-age", b"600"),
            (b"vary", b"origin, access-control-request-headers"),
        )

    def _allows(self, origin: str) -> bool:
        return "*" in self._origins or origin in self._origins

    def _check_origin(self, origin: str, host: str) -> None:
        try:
            is_own = urlsplit(origin).netloc == host
        except ValueError:  # an invalid origin, such as http://[
            is_own = False
        if not is_own and not self._allows(origin):
            raise ApiError("forbidden", f"pages from {origin[:80]!r} are blocked; --allow-origin allows them")

    def _check_key(self, exchange: Exchange, keys: KeyRing) -> None:
        scheme, _, secret = exchange.headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        key = keys.of(secret.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            found = "the API key is unknown" if secret else "an API key is required: Authorization: Bearer KEY"
            raise ApiError("unauthorized", found)
        exchange.key_name = key.name
        if key.rate is None:
            return
        share = key.rate / self._workers
        if seconds := self._rates.wait(key.name, share):
            each = f" to each of {self._workers} processes" if self._workers > 1 else ""
            raise ApiError("rate_limit", f"this key may send {share:g} requests per minute{each}", retry_after=seconds)


class RateLimits:
    """Limits each key's requests per minute with a token bucket that holds a few seconds' worth."""

    def __init__(self) -> None:
        self._buckets: dict[str, tuple[float, float]] = {}
        """For each key, the number of requests left in its bucket and the time when that was computed."""

    def wait(self, name: str, per_minute: float, now: float | None = None) -> float:
        """Take one request from a key's bucket; returns 0, or the seconds until one is available."""
        now = time.monotonic() if now is None else now
        per_second = per_minute / 60
        most = max(1.0, per_second * BURST_SECONDS)
        left, filled = self._buckets.get(name, (most, now))
        left = min(most, left + (now - filled) * per_second)
        self._buckets[name] = (left - 1 if left >= 1 else left), now
        return max(0.0, 1 - left) / per_second
