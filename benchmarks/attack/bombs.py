"""Small requests that cause much work or large responses, derived from the route table and so also for new routes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from likewise.serve.application import api_routes
from likewise.serve.serve_settings import ServeSettings
from likewise.serve.web.bodies import Body
from likewise.serve.web.endpoint import ApiRoute
from tests.serve.requests_by_route import GOOD, path_of

from .attempt import Failed

Schema = Mapping[str, Any]
"""JSON Schema."""
LARGEST = 8 << 20
"""Maximum size of a body in bytes; the body is small compared with the work that it causes."""
NAME = 1_000
"""Limit in characters below which a string field counts as a name, which is not used for bombs."""
ROUTES = [route for route in api_routes(ServeSettings()) if not route.answers_only_errors]
UNITS: Mapping[str, str] = {
    "words": "cat dog ",
    "marks": "e\u0301\u0327",
    "wide": "\ufdfa",  # NFKC expands it to 18 characters
    "ideographs": "漢",
}
"""The strings that the longest texts repeat."""
PATHS: Mapping[str, str] = {"long": "a" * 60_000, "above": "../" * 5_000 + "etc/passwd", "coded": "%2e%2e%2f" * 5_000}
"""The values of path parameters."""


def distinct_words(count: int) -> str:
    """Return a text of distinct words."""
    return " ".join(f"w{i:x}" for i in range(count))


QUERIES: Mapping[str, str] = {
    **{f"distinct-{n}": distinct_words(n) for n in (10, 100, 1_000, 10_000, 90_000)},
    "letters": " ".join(map(chr, range(97, 123))),
    "underscores": "_".join(f"w{i:x}" for i in range(60_000)),
    "ideographs": "".join(chr(0x4E00 + i) for i in range(20_000)),
    "emoji": "".join(chr(0x1F300 + i) for i in range(1_000)),
    "hangul": " ".join(chr(0xAC00 + i) for i in range(11_000)),
    "marks": " ".join(f"e{chr(0x300 + i)}" for i in range(100)) * 100,
    "operators": "cat AND dog OR NOT NEAR(a b, 3) " * 1_000,
    "quotes": "\"cat' ^ * : - + " * 1_000,
    "prefixes": " ".join(f"w{i:x}*" for i in range(16)),
    "columns": "text : cat " * 1_000,
    "one-word": "w" * 500_000,
}
"""Bombs for full-text search."""


def requests_of(route: ApiRoute) -> dict[str, tuple[str, Any]]:
    """Return the path and body of each bomb by name; in the last bomb, every field is at its limit."""
    good = GOOD.get((route.method, route.path))
    if route.body is not None and not isinstance(good, dict):
        raise Failed("wrong answer", f"tests.serve.requests_by_route contains no valid request for {route.path}")
    if route.body is not None:
        return {name: (route.path, body) for name, body in _bodies(route.body, good).items()}
    paths = {name: path for name, path in PATHS.items() if "{" in route.path}
    found = {name: (_with(route, path), None) for name, path in paths.items()}
    for name, schema in (fields(route.query) if route.query else {}).items():
        found |= {f"{name}-{how}": (f"{path_of(route)}?{name}={value}", None) for how, value in values(schema)}
    return found or {"good": (path_of(route), None)}


def _with(route: ApiRoute, value: str) -> str:
    return route.path[: route.path.index("{")] + value


def fields(body: type[Body]) -> dict[str, Schema]:
    """Return the JSON Schema of each field, with references resolved."""
    document = msgspec.json.schema(body)
    return _resolved(document, document["$defs"])["properties"]


def _resolved(schema: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_resolved(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {name: _resolved(one, parts) for name, one in schema.items() if name != "$defs"}


def _bodies(body: type[Body], good: Mapping[str, Any]) -> dict[str, Any]:
    """Return valid bodies with one field at its limit, and one body with all fields at their limits."""
    found, schemas = dict[str, Any](), fields(body)
    for name, schema in schemas.items():
        others = {key: value for key, value in good.items() if name not in ALTERNATIVE.get(key, ())}
        found |= {f"{name}-{how}": {**others, name: value} for how, value in values(schema)}
    room = LARGEST // len(good)
    return {**found, "all": {name: most(schemas[name], room) for name in good}}


ALTERNATIVE: Mapping[str, tuple[str, ...]] = {"texts": ("inputs", "documents"), "inputs": ("texts",)}
"""Fields that exclude other fields."""


def values(schema: Schema) -> Iterator[tuple[str, Any]]:
    """Yield named values at the limits of a schema and beyond them."""
    match schema:
        case {"anyOf": kinds}:
            for i, inner in enumerate(kinds):
                yield from ((f"{inner.get('type', i)}-{name}", value) for name, value in values(inner))
        case {"type": "string", "maxLength": longest} if longest > NAME:
            yield from ((name, (unit * longest)[:longest]) for name, unit in UNITS.items())
            yield "distinct", distinct_words(longest // 7)[:longest]
        case {"type": "integer", "maximum": largest}:
            yield "most", largest
        case {"type": "string" | "boolean" | "null"} | {"enum": _}:
            yield from ()
        case {"type": "array", "items": item, "maxItems": count}:
            for i, kind in enumerate(item.get("anyOf", [item])):
                yield f"many-small-{i}", _list(_small(kind), count)
                yield f"many-large-{i}", _list(most(kind, LARGEST // count), count)
        case {"type": "object", "properties": inner}:
            yield "most", {name: most(one) for name, one in inner.items()}
        case _:
            raise TypeError(f"there is no bomb for {schema}; add one here")


def most(schema: Schema, room: int = LARGEST // 4) -> Any:
    """Return one large value of at most about this many bytes."""
    match schema:
        case {"anyOf": kinds}:
            return max((most(inner, room) for inner in kinds), key=lambda value: len(json.dumps(value)))
        case {"type": "string", "maxLength": longest}:
            return ("cat dog " * longest)[: min(longest, room)]
        case {"type": "integer", "maximum": largest}:
            return largest
        case {"type": "boolean"}:
            return True
        case {"type": "null"}:
            return None
        case {"enum": names}:
            return names[-1]
        case {"type": "array", "items": item, "maxItems": count}:
            return _list(most(item, max(room // count, 8)), count, room)
        case {"type": "object", "properties": inner}:
            return {name: most(one, room // len(inner)) for name, one in inner.items()}
        case _:
            raise TypeError(f"there is no bomb for {schema}; add one here")


def _small(schema: Schema) -> Any:
    match schema:
        case {"type": "string"}:
            return "cat"
        case {"type": "integer"}:
            return max(schema.get("minimum", 0), 5)
        case {"type": "array", "items": item}:
            return [_small(item)]
        case {"type": "object", "properties": inner}:
            return {name: _small(one) for name, one in inner.items()}
        case _:
            return most(schema)


def _list(item: Any, count: int, room: int = LARGEST) -> list[Any]:
    """Return a list of as many items as the list and the body may contain."""
    return [item] * min(count, max(1, room // (len(json.dumps(item)) + 2)))
