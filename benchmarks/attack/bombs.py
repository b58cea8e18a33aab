"""Small requests that ask for large work or large answers, made from the table of routes: a new route has its own."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from likewise.serve.routes.route_table import api_routes
from likewise.serve.serve_settings import ServeSettings
from likewise.serve.web.endpoint import ApiRoute
from likewise.serve.web.schemas import Alternatives, Choice, Flag, ListOf, ObjectOf, Schema, Text, Whole
from tests.serve.requests_by_route import GOOD, path_of

from .attempt import Failed

LARGEST = 8 << 20
"""Bytes of a body; it is what they ask for that is large."""
NAME = 1_000
"""Characters; a text that may not have more is a name, and no bomb."""
ROUTES = [route for route in api_routes(ServeSettings()) if not route.answers_only_errors]
UNITS: Mapping[str, str] = {
    "words": "cat dog ",
    "one-word": "a",
    "marks": "e\u0301\u0327",
    "wide": "\ufdfa",  # 18 characters by NFKC
    "emoji": "\U0001f469\u200d\U0001f467",
    "ideographs": "漢",
}
"""What the longest text repeats."""
PATHS: Mapping[str, str] = {"long": "a" * 60_000, "above": "../" * 5_000 + "etc/passwd", "coded": "%2e%2e%2f" * 5_000}
"""What stands for the braces of a path."""


def distinct_words(count: int) -> str:
    """Words that are all different."""
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
    """Paths and bodies by the names of bombs; the last has the most of everything."""
    good = GOOD.get((route.method, route.path))
    if route.body is not None and not isinstance(good, dict):
        raise Failed("wrong answer", f"tests.serve.requests_by_route has no good request of {route.path}")
    if route.body is not None:
        return {name: (route.path, body) for name, body in _bodies(route.body, good).items()}
    paths = {name: path for name, path in PATHS.items() if "{" in route.path}
    found = {name: (_with(route, path), None) for name, path in paths.items()}
    for name, row in (route.query.fields if route.query else {}).items():
        found |= {f"{name}-{how}": (f"{path_of(route)}?{name}={value}", None) for how, value in values(row.schema)}
    return found or {"good": (path_of(route), None)}


def _with(route: ApiRoute, value: str) -> str:
    return route.path[: route.path.index("{")] + value


def _bodies(schema: ObjectOf, good: Mapping[str, Any]) -> dict[str, Any]:
    """Good bodies with one field at its most, and one with all that are in it at their most."""
    found: dict[str, Any] = {}
    for name, row in schema.fields.items():
        others = {key: value for key, value in good.items() if name not in ALTERNATIVE.get(key, ())}
        found |= {f"{name}-{how}": {**others, name: value} for how, value in values(row.schema)}
    room = LARGEST // len(good)
    return {**found, "all": {name: most(schema.fields[name].schema, room) for name in good}}


ALTERNATIVE: Mapping[str, tuple[str, ...]] = {"texts": ("inputs", "documents"), "inputs": ("texts",)}
"""Fields that must not stand beside others."""


def values(schema: Schema) -> Iterator[tuple[str, Any]]:
    """Names and values at the bounds of a schema, and beyond them."""
    match schema:
        case Text(longest=longest) if longest > NAME:
            yield from ((name, (unit * longest)[:longest]) for name, unit in UNITS.items())
            yield "distinct", distinct_words(longest // 7)[:longest]
        case Whole(most=largest):
            yield "most", largest
        case Text() | Flag() | Choice():
            yield from ()
        case ListOf(item=item, most=count):
            yield "many-small", _list(_small(item), count)
            yield "many-large", _list(most(item, LARGEST // count), count)
        case Alternatives(by_type=by_type):
            for kind, inner in by_type.items():
                yield from ((f"{kind}-{name}", value) for name, value in values(inner))
        case ObjectOf(fields=fields):
            yield "most", {name: most(row.schema) for name, row in fields.items()}
        case _:
            raise TypeError(f"no bomb is known for {type(schema).__name__}: add one here")


def most(schema: Schema, room: int = LARGEST // 4) -> Any:
    """One large value, of about so many bytes at most."""
    match schema:
        case Text(longest=longest):
            return ("cat dog " * longest)[: min(longest, room)]
        case Whole(most=largest):
            return largest
        case Flag():
            return True
        case Choice(names=names):
            return names[-1]
        case ListOf(item=item, most=count):
            return _list(most(item, max(room // count, 8)), count, room)
        case Alternatives(by_type=by_type):
            return max((most(inner, room) for inner in by_type.values()), key=lambda value: len(json.dumps(value)))
        case ObjectOf(fields=fields):
            return {name: most(row.schema, room // len(fields)) for name, row in fields.items()}
        case _:
            raise TypeError(f"no bomb is known for {type(schema).__name__}: add one here")


def _small(schema: Schema) -> Any:
    match schema:
        case Text():
            return "cat"
        case Whole(least=least):
            return max(least, 5)
        case ListOf(item=item):
            return [_small(item)]
        case ObjectOf(fields=fields):
            return {name: _small(row.schema) for name, row in fields.items()}
        case _:
            return most(schema)


def _list(item: Any, count: int, room: int = LARGEST) -> list[Any]:
    """As many as the list and a body may have."""
    return [item] * min(count, max(1, room // (len(json.dumps(item)) + 2)))
