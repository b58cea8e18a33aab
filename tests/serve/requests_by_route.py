"""A good request for each route of the table, by method and path; a route without one fails the tests of all routes."""

import json

GOOD = {
    ("POST", "/v1/embeddings"): {"input": ["a cat", "dogs"]},
    ("POST", "/embeddings"): {"input": "a cat"},
    ("GET", "/v1/models"): None,
    ("GET", "/v1/models/{model:path}"): {"model:path": "tiny"},
    ("POST", "/embed"): {"inputs": ["a cat", "dogs"]},
    ("POST", "/"): {"inputs": "a cat", "normalize": True, "dimensions": 4.0},
    ("GET", "/info"): None,
    ("POST", "/rerank"): {"query": "a cat", "texts": ["dogs", "a kitten"]},
    ("POST", "/v1/rerank"): {"query": "a cat", "documents": ["dogs", {"text": "a kitten"}][:1]},
    ("POST", "/v2/rerank"): {"query": "a cat", "documents": ["dogs", "a kitten"], "top_n": 1},
    ("POST", "/predict"): {"inputs": ["a cat sleeps", "dogs bark"], "top_k": 2},
    ("POST", "/embed_all"): {"inputs": "a cat"},
    ("POST", "/tokenize"): {"inputs": "a cat"},
    ("POST", "/decode"): {"ids": [5, 6]},
    ("POST", "/v1/search"): {"query": "a cat", "k": 2},
    ("GET", "/v1/collections"): None,
    ("GET", "/v1/collections/{name}"): {"name": "notes"},
    ("GET", "/v1/collections/{name}/map"): {"name": "notes"},
    ("POST", "/similarity"): {"texts": ["a cat", "dogs"]},
    ("POST", "/explain"): {"first": "a cat", "second": "dogs bark"},
    ("POST", "/dissect"): {"text": "dogs bark"},
    ("GET", "/health"): None,
    ("GET", "/ping"): None,
    ("GET", "/metrics"): None,
    ("GET", "/openapi.json"): None,
    ("GET", "/status"): None,
    ("GET", "/card"): None,
    ("GET", "/"): None,
    ("GET", "/page/{path:path}"): {"path:path": "app.js"},
}


def posted(path, body, headers=b""):
    """The bytes of a request with some JSON."""
    data = json.dumps(body).encode()
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n"
    return head % (path.encode(), headers, len(data)) + data


def path_of(route):
    """A route's path, its braces filled in."""
    path = route.path
    for name, value in (GOOD.get((route.method, route.path)) or {}).items():
        path = path.replace("{" + name + "}", str(value))
    return path


def ask(client, route, **options):
    """The good request of a route."""
    if route.method == "GET":
        return client.get(path_of(route), **options)
    return client.post(route.path, json=GOOD[route.method, route.path], **options)
