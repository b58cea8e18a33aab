"""Client: a small HTTP client for `likewise serve` that returns NumPy arrays, sends texts in batches and retries.

>>> client = Client("http://127.0.0.1:8080")                              # doctest: +SKIP
>>> client.embed(["A cat sleeps.", "A kitten naps."]).shape               # doctest: +SKIP
(2, 384)
"""

import json
import random
import time
import warnings
from collections.abc import Iterable, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import numpy as np

from ..array_types import Float
from ..errors import BadInput, ServerUnavailable
from ..runtime.arguments import whole_number
from ..wording import counted

AGAIN = (429, 502, 503, 504)
"""HTTP statuses after which a retry may succeed."""
LONGEST_WAIT = 30.0
"""Maximum seconds between attempts, even if the server asks for a longer delay."""
BATCH = 500
"""Number of texts per request."""


class _Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> str:
        try:
            found = json.loads(self.body)
            error = found.get("error", found.get("message", ""))
            return str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, AttributeError, KeyError):
            return self.body[:200].decode("utf-8", "replace")


class Client:
    """A connection to a server, kept open; one thread at a time may use it.

    Args:
        url: the server's address.
        key: an API key, if the server requires one.
        timeout: seconds to wait for a response.
        attempts: maximum number of times to send a request if the server is busy or unreachable.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", *, key: str | None = None, timeout: float = 60.0, attempts: int = 5
    ) -> None:
        parts = _address(url)
        self.url, self._prefix = url, parts.path.rstrip("/")
        self._attempts, self._headers = whole_number("attempts", attempts), {"Content-Type": "application/json"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {_plain_key(key)}"
        connection = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = connection(parts.netloc, timeout=timeout)

    def embed(
        self,
        texts: Iterable[str],
        *,
        model: str | None = None,
        prompt_name: str | None = None,
        dimensions: int | None = None,
        truncate: bool = True,
        batch: int = BATCH,
    ) -> Float[np.ndarray, "N E"]:
        """Return a unit-length vector for each text, in the given order.

        All texts are read and checked first, and then sent `batch` at a time.

        Raises:
            BadInput: the server rejects the request; the error contains the server's message.
            ServerUnavailable: the server cannot be reached, or stays busy.
        """
        options = {"model": model, "prompt_name": prompt_name, "dimensions": dimensions, "truncate": truncate}
        parts, cut, listed = [], 0, _texts("texts", texts)
        for start in range(0, len(listed), whole_number("batch", batch)):
            body = {"input": listed[start : start + batch], "encoding_format": "bytes", **options}
            answer = self._ask("/v1/embeddings", body)
            shape = tuple(map(int, answer.headers["x-embedding-shape"].split(",")))
            parts.append(np.frombuffer(answer.body, "<f4").reshape(shape))
            cut += int(answer.headers["x-truncated-inputs"])
        if cut:
            what = f"{counted(cut, 'text was', 'texts were')} truncated to the model's limit"
            warnings.warn(f"{what}; with truncate=False the request would be rejected", stacklevel=2)
        return np.concatenate(parts).astype(np.float32) if parts else np.empty((0, 0), np.float32)

    def similarity(self, texts: Sequence[str], *, model: str | None = None) -> Float[np.ndarray, "N N"]:
        """Return the cosine similarities between all pairs of texts."""
        found = self._json("/similarity", {"texts": _texts("texts", texts), "model": model})
        return np.asarray(found["matrix"], np.float32)

    def rerank(
        self, query: str, documents: Sequence[str], k: int | None = None, *, model: str | None = None
    ) -> list[tuple[int, float]]:
        """Return the index and score of the k documents (default: all) that best answer the query, best first."""
        body = {"query": query, "documents": _texts("documents", documents), "top_n": k, "model": model}
        found = self._json("/v1/rerank", body)
        return [(row["index"], row["relevance_score"]) for row in found["results"]]

    def search(
        self,
        query: str,
        k: int = 10,
        where: str | None = None,
        *,
        collection: str | None = None,
        hybrid: bool = False,
        rerank: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return the id, text, score and metadata of the k passages of a collection that best answer a query.

        `rerank` names a reranker on the server, which reorders the best 100 passages (the best k if k is larger).
        """
        body = {"query": query, "k": k, "filter": where, "collection": collection, "hybrid": hybrid, "rerank": rerank}
        return list(self._json("/v1/search", body)["passages"])

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._connection.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _json(self, path: str, body: dict[str, Any]) -> Any:
        found = json.loads(self._ask(path, body).body)
        cut = sum(len(one.get("truncated", ())) for one in (found, found.get("reranked", {})))
        if cut:
            warnings.warn(f"{cut} inputs were truncated to the model's limit", stacklevel=3)
        return found

    def _ask(self, path: str, body: dict[str, Any]) -> _Answer:
        data, why = json.dumps(body).encode(), ""
        for attempt in range(self._attempts):
            wait = 0.1 * 2**attempt * random.uniform(0.5, 1.5)
            try:
                answer = self._send(path, data)
            except (OSError, HTTPException) as error:
                self._connection.close()
                why = f"cannot be reached: {error or type(error).__name__}"
            else:
                if answer.status < 300:
                    return answer
                if answer.status < 400:
                    place = answer.headers.get("location", "another address")
                    raise BadInput(f"{self.url} redirects to {place} (status {answer.status}); pass that URL as url")
                if answer.status not in AGAIN:
                    raise BadInput(f"{self.url}{path}: {answer.message} (status {answer.status})")
                why = f"answers {answer.status}: {answer.message}"
                wait = max(wait, _seconds(answer.headers.get("retry-after")))
            if attempt + 1 < self._attempts:
                time.sleep(min(wait, LONGEST_WAIT))
        raise ServerUnavailable(f"{self.url} {why} (after {self._attempts} attempts)")

    def _send(self, path: str, data: bytes) -> _Answer:
        self._connection.request("POST", self._prefix + path, data, self._headers)
        response: HTTPResponse = self._connection.getresponse()
        body = response.read()
        return _Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, body)


def _address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_plain = "@" not in parts.netloc and not parts.query and not parts.fragment and parts.port != 0
    except (ValueError, TypeError, AttributeError):  # for example, the port is not a number, or the URL is bytes
        is_plain = False
    if not is_plain or parts.scheme not in ("http", "https") or not parts.hostname:
        if "@" in str(url):  # even if the URL cannot be parsed, because the message must not show a password
            raise BadInput("url contains a user name or password; pass an API key as key= instead")
        raise BadInput(f"url is {url!r}; expected http://HOST:PORT or https://HOST")
    return parts


def _plain_key(key: str) -> str:
    """Strip the newline at the end of a key that was read from a file."""
    if not isinstance(key, str):
        raise BadInput(f"key is a {type(key).__name__}; expected a str")
    plain = key.strip()
    if not (plain.isascii() and plain.isprintable()):
        raise BadInput("key contains characters that no API key contains; expected one from likewise serve keys add")
    return plain


def _texts(name: str, given: Iterable[str]) -> list[str]:
    """Check the texts: a lone str would be sent as its characters, and the server would take ints for token ids."""
    if isinstance(given, str):
        raise BadInput(f"{name} is a single str; expected a list of texts: [{name}]")
    texts = list(given)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise BadInput(f"{name}[{i}] is {text!r:.40} ({type(text).__name__}); expected a str")
    return texts


def _seconds(given: str | None) -> float:
    """Return the seconds in a Retry-After header; 0 if it is missing or a date."""
    return float(given) if given is not None and given.isdecimal() else 0.0
