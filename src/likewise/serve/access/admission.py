"""Admission: host, origin, key and rate of a request, before anything of it is read.

Without keys a server answers only requests that name this machine as their host: a web page that makes its own name
point here (DNS rebinding) names another. Scripts of foreign pages are refused unless their origin is allowed.
"""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..serve_settings import LOOPBACK, ServeSettings
from ..web.api_errors import ApiError
from ..web.exchange import Exchange
from .rate_limits import RateLimits

if TYPE_CHECKING:
    from .api_keys import KeyRing

Headers = tuple[tuple[bytes, bytes], ...]
SAFE: Headers = ((b"x-content-type-options", b"nosniff"),)


class Admission:
    """The rules of a server; `keys` is None where none are asked for."""

    def __init__(self, settings: ServeSettings, keys: "KeyRing | None") -> None:
        self._settings, self._keys, self._rates = settings, keys, RateLimits()
        self._checks_host = keys is None and settings.is_loopback
        self._hosts = {*LOOPBACK, "[::1]", *settings.allowed_hosts}
        self._origins = {*settings.allowed_origins}

    def check(self, exchange: Exchange, is_open: bool) -> None:
        """Refuse who may not ask.

        Raises:
            ApiError: the host is another machine's, the origin is not allowed, the key is wrong, or asks too often.
        """
        headers = exchange.headers
        if self._checks_host:
            self._check_host(headers.get(b"host", b"").decode("latin-1"))
        origin = headers.get(b"origin")
        if origin is not None:
            self._check_origin(origin.decode("latin-1"), headers.get(b"host", b"").decode("latin-1"))
        if self._keys is not None and not is_open:
            self._check_key(exchange, headers.get(b"authorization", b"").decode("latin-1"))

    def cors_headers(self, exchange: Exchange) -> Headers:
        """What every reply has, and what lets an allowed page read it."""
        if not self._origins:
            return SAFE
        origin = exchange.headers.get(b"origin")
        if origin is None or not self._allows(origin.decode("latin-1")):
            return (*SAFE, (b"vary", b"origin"))
        return (*SAFE, (b"vary", b"origin"), (b"access-control-allow-origin", origin))

    def preflight_headers(self, origin: str) -> Headers | None:
        """The answer to a browser that asks whether a page may ask; None: it may not."""
        if not self._allows(origin):
            return None
        return (
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", b"authorization, content-type, x-request-id"),
            (b"access-control-max-age", b"600"),
            (b"vary", b"origin"),
        )

    def _allows(self, origin: str) -> bool:
        return "*" in self._origins or origin in self._origins

    def _check_host(self, host: str) -> None:
        if _without_port(host) not in self._hosts:
            raise ApiError("host", f"this server does not answer to the host {host[:80]!r}; --allow-host allows a name")

    def _check_origin(self, origin: str, host: str) -> None:
        try:
            is_own = urlsplit(origin).netloc == host
        except ValueError:  # such as http://[
            is_own = False
        if not is_own and not self._allows(origin):
            raise ApiError("forbidden", f"pages of {origin[:80]!r} may not ask; --allow-origin allows them")

    def _check_key(self, exchange: Exchange, authorization: str) -> None:
        assert self._keys is not None
        scheme, _, secret = authorization.partition(" ")
        key = self._keys.of(secret.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            found = "the API key is unknown" if secret else "an API key is needed: Authorization: Bearer KEY"
            raise ApiError("unauthorized", found)
        exchange.key_name = key.name
        if key.rate is not None:
            seconds = self._rates.wait(key.name, key.rate)
            if seconds:
                about = f"this key has {key.rate:g} requests a minute"
                raise ApiError("rate_limit", about, retry_after=seconds)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
