"""Malformed requests: valid requests to random routes, corrupted in one or more ways.

They contain flipped or missing bytes, JSON of wrong types or depths, invalid Unicode and base64, wrong lengths,
repeated or huge headers, and invalid methods and paths. Some clients disconnect in the middle.
"""

import json
import random
import socket
import string
from collections.abc import Callable
from typing import Any

ROUTES: dict[str, Any] = {
    "/v1/embeddings": {"input": ["A cat sleeps.", "x"], "dimensions": 4, "encoding_format": "base64"},
    "/embed": {"inputs": "A cat sleeps.", "truncate": True, "normalize": False},
    "/embed_all": {"inputs": ["A cat."]},
    "/similarity": {"inputs": {"source_sentence": "A cat.", "sentences": ["A dog."]}},
    "/rerank": {"query": "cats", "texts": ["A cat.", "A dog."], "raw_scores": True},
    "/v1/rerank": {"query": "cats", "documents": [{"text": "A cat."}], "top_n": 1},
    "/v2/rerank": {"query": "cats", "documents": ["A cat."]},
    "/tokenize": {"inputs": "A cat sleeps.", "add_special_tokens": False},
    "/decode": {"ids": [[101, 2000, 102]]},
    "/v1/search": {"query": "cats", "k": 3, "filter": "year >= 2000"},
    "/explain": {"first": "A cat.", "second": "A dog."},
    "/dissect": {"text": "A cat."},
    "/embed_sparse": {"inputs": "A cat."},
    "/predict": {"inputs": "A cat."},
}
VALUES: list[Any] = [
    *(None, True, -1, 0, 1e308, -1e-320, 2**63, 10**40, "", " ", "\0", "\ud800", "𝕏" * 50, "a" * 20_000),
    *([], {}, [[]], [[[]]], [None], [1, "a"], ["a", 1], [[1], ["a"]], {"a": {"b": []}}, [10**9], [[-1]], "AAAA=="),
    *("../../etc/passwd", "file:///etc/passwd", "'; DROP TABLE records; --", "year = 1 or 1 = 1", "((((", "%00%ff"),
    "<script>alert(1)</script>",
]
HEADERS = [
    *(b"Content-Length: 0", b"Content-Length: 999999999999", b"Content-Length: x", b"Transfer-Encoding: chunked"),
    *(b"Transfer-Encoding: gzip, chunked", b"Content-Encoding: gzip", b"Expect: 100-continue", b"Connection: upgrade"),
    *(b"Upgrade: websocket", b"Host: evil.example", b"Origin: https://evil.example", b"Authorization: Bearer \xff"),
    *(b"X-Request-Id: a\tb", b"X-Request-Id: " + b"a" * 5000, b"Cookie: " + b"c" * 70_000, b": no name", b"Host:"),
    *(b"Content-Type: text/plain; charset=utf-7", b"Accept: */*;q=x", b"Range: bytes=0-9999999999", b"X-\x00: a"),
]
METHODS = ["POST"] * 20 + ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "P\x00ST", "post"]
PATIENCE = 0.2
"""Seconds to wait for a response; an incomplete request gets no response for a while."""
Spoil = Callable[[random.Random, bytes], bytes]


def spoilt(random_: random.Random) -> bytes:
    """Return a corrupted request; a few are still valid."""
    path = random_.choice([*ROUTES])
    body = json.dumps(_spoilt_value(random_, ROUTES[path])).encode() if random_.random() < 0.7 else b""
    body = body or json.dumps(ROUTES[path]).encode()
    if random_.random() < 0.25:
        body = random_.choice(BODY_SPOILS)(random_, body)
    method = random_.choice(METHODS)
    if random_.random() < 0.1:
        path = random_.choice(PATHS)
    headers = [random_.choice(HEADERS) for _ in range(random_.choice([0, 0, 0, 1, 2]))]
    request = _request_bytes(method, path, body, headers)
    return random_.choice(BYTE_SPOILS)(random_, request) if random_.random() < 0.1 else request


def _request_bytes(method: str, path: str, body: bytes, given: list[bytes]) -> bytes:
    """Return the bytes of a request."""
    length = [] if any(line.startswith(b"Content-Length") for line in given) else [b"Content-Length: %d" % len(body)]
    host = [] if any(line.startswith(b"Host") for line in given) else [b"Host: 127.0.0.1"]
    first = f"{method} {path} HTTP/1.1".encode("utf-8", "surrogatepass")
    return b"\r\n".join([first, *host, *length, *given, b"", b""]) + body


def _spoilt_value(random_: random.Random, value: Any) -> Any:
    """Return a JSON value with one or more parts replaced, added, removed or wrapped."""
    if not isinstance(value, dict) or random_.random() < 0.05:
        return random_.choice(VALUES)
    changed = dict(value)
    for _ in range(random_.choice([1, 1, 2, 3])):
        name = random_.choice([*value, *value, "model", "prompt_name", "inputs", "unheard_of", "k", "dimensions"])
        how = random_.random()
        if how < 0.15:
            changed.pop(name, None)
        elif how < 0.3 and isinstance(changed.get(name), dict):
            changed[name] = _spoilt_value(random_, changed[name])
        elif how < 0.4:
            changed[name] = [changed.get(name)] * random_.choice([1, 2, 300])
        else:
            changed[name] = random_.choice(VALUES)
    return changed


def _cut(random_: random.Random, data: bytes) -> bytes:
    return data[: random_.randrange(len(data) + 1)]


def _flip(random_: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(random_.choice([1, 1, 5])):
        if found:
            found[random_.randrange(len(found))] = random_.randrange(256)
    return bytes(found)


def _deep(random_: random.Random, data: bytes) -> bytes:  # noqa: ARG001
    return b'{"input":' * 2000 + data


def _junk(random_: random.Random, data: bytes) -> bytes:
    return bytes(random_.randrange(256) for _ in range(random_.randrange(200))) + data


def _invalid_text(random_: random.Random, data: bytes) -> bytes:
    return data.replace(b"cat", random_.choice([b"\xff\xfe", b"\\ud800", b"\\u0000", b"\xc0\xaf", b"\x00"]))


BODY_SPOILS: list[Spoil] = [_cut, _flip, _deep, _junk, _invalid_text]
BYTE_SPOILS: list[Spoil] = [_cut, _flip, _junk]
PATHS = ["/", "//embed", "/embed/", "/v1/models/../../x", "/v1/collections/%2e%2e/map", "/\u00e9", "/embed?x=%ff", "*"]
PATHS += ["/" + "a" * 9000, "/v1/collections/x/map?limit=abc", "/v1/models/" + string.punctuation.replace(" ", "")]
PATHS += ["http://evil/embed", "/metrics"]


def sent(port: int, request: bytes, random_: random.Random) -> str:
    """Send a request; returns the status, `none` if the connection was closed, or `waits` if there was no response."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.settimeout(PATIENCE)
        try:
            if random_.random() < 0.03:
                connection.sendall(_cut(random_, request))
                return "gone"
            connection.sendall(request)
            reply = connection.recv(65_536)
        except TimeoutError:  # the server waits for more of the request
            return "waits"
        except OSError:
            return "none"
    return reply[9:12].decode("latin-1") if reply else "none"
