"""Calls to a Milvus server: connecting is retried with pauses, and every failure is one of likewise's errors."""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from ....errors import BadInput, ServerUnavailable
from ....runtime.installation import missing_extra
from ..server_address import ServerAddress

try:
    import grpc
    from pymilvus import DataType, MilvusClient, MilvusException
except ImportError:
    raise missing_extra("pymilvus", "milvus", "an index in Milvus") from None

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it prints a trace of every error that it raises

PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds between attempts to reach the server: 6.3 in all."""
TIMEOUT = 30.0
"""Seconds in which one call must be answered."""
NOT_CONNECTED = 2
"""The code of pymilvus's own error where it could not connect."""
NOT_LOADED = 101
"""The code of a server that has restarted without a collection in memory."""
SCHEME = "milvus"
OPTIONS = {"index": ("exact", "hnsw"), "secure": ("false", "true")}

__all__ = ["OPTIONS", "SCHEME", "DataType", "MilvusCalls", "MilvusClient"]


class MilvusCalls:
    """A client of one server. What is called must be harmless when done twice: a lost call is sent again."""

    def __init__(self, address: ServerAddress) -> None:
        self._shown = address.shown
        self._client = self._retried(lambda: MilvusClient(**_parameters(address), timeout=5.0))

    def __call__(self, method: str, *args: Any, **options: Any) -> Any:
        """The result of a method of MilvusClient.

        Raises:
            ServerUnavailable: the server was not reached, or did not answer in time.
            BadInput: the server refused.
        """
        return self._retried(lambda: self._loaded(method, *args, timeout=TIMEOUT, **options))

    def pages(self, collection: str, size: int, fields: list[str]) -> Iterator[list[Any]]:
        """All rows of a collection in the order of their ids, a page at a time."""
        pages = self("query_iterator", collection, batch_size=size, output_fields=fields, consistency_level="Strong")
        try:
            while page := self._retried(pages.next):
                yield list(page)
        finally:
            pages.close()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _retried(self, call: Callable[[], Any]) -> Any:
        """The result of a call, which is repeated after a pause while the server is away."""
        for pause in (*PAUSES, None):
            try:
                return call()
            except (MilvusException, grpc.RpcError) as error:
                explained = self._explained(error)
                if pause is None or isinstance(explained, BadInput):
                    raise explained from None
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _loaded(self, method: str, *args: Any, **options: Any) -> Any:
        """The result of a method; where the collection, its first argument, is not in memory, it is loaded first."""
        try:
            return getattr(self._client, method)(*args, **options)
        except MilvusException as error:
            if error.code != NOT_LOADED:
                raise
        self._client.load_collection(args[0], timeout=TIMEOUT)
        return getattr(self._client, method)(*args, **options)

    def _explained(self, error: Any) -> BadInput | ServerUnavailable:
        message = " ".join(str(getattr(error, "message", "") or error).split())[:300]
        if isinstance(error, grpc.RpcError) or error.code == NOT_CONNECTED or isinstance(error.code, grpc.StatusCode):
            advice = "Whether a write was stored is not known; repeating it is harmless once the server is back"
            return ServerUnavailable(f"{self._shown} cannot be reached: {message}. {advice}")
        return BadInput(f"{self._shown}: the server refused: {message}")


def _parameters(address: ServerAddress) -> dict[str, str]:
    """The arguments of MilvusClient; a user without a password is a token, as hosted servers give them."""
    parts = urlsplit(address.url)
    scheme = "https" if address.options.get("secure") == "true" else "http"
    token = ":".join(unquote(part) for part in (parts.username, parts.password) if part)
    found = {"uri": f"{scheme}://{parts.hostname}:{parts.port or 19530}", "token": token, "db_name": parts.path[1:]}
    return {name: value for name, value in found.items() if value}
