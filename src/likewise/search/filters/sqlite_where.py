"""A filter for SQLite: a WHERE expression over a column of JSON objects, with parameters for every name and value."""

import json
from typing import Any

from .conditions import Compares, Condition, IsMissing, Leaf, MatchesPattern, OneOf, pattern_parts, value_kind
from .expressions import with_parameters

JSON_TYPES = {"string": "('text')", "number": "('integer', 'real')", "boolean": "('true', 'false')"}
"""What `json_type` calls a value of each kind."""
GLOB = {"%": "*", "_": "?"}


def sqlite_where(condition: Condition, metadata: str = "metadata") -> tuple[str, list[Any]]:
    """The expression and its parameters; `metadata` is the name of the SQL column that holds a JSON object or NULL.

    Only that name, which is the caller's, and fixed words of SQL are in the expression.
    """
    return with_parameters(condition, lambda leaf: _leaf(leaf, metadata, '$."' + leaf.column + '"'))


def _leaf(leaf: Leaf, metadata: str, path: str) -> tuple[str, list[Any]]:
    extracted = f"json_extract({metadata}, ?)"
    match leaf:
        case IsMissing(_, negated):
            return f"({extracted} IS {'NOT ' * negated}NULL)", [path]
        case Compares(_, operator, value):
            marks, values = _bound(value)
            return _of_kind(metadata, path, value, f"{extracted} {operator} {marks}", [path, *values])
        case OneOf(_, choices, negated):
            test = f"{extracted} {'NOT ' * negated}IN (SELECT value FROM json_each(?))"
            return _of_kind(metadata, path, choices[0], test, [path, json.dumps(choices)])
        case MatchesPattern(_, pattern, negated):
            return _of_kind(metadata, path, "", f"{extracted} {'NOT ' * negated}GLOB ?", [path, _glob(pattern)])


def _of_kind(metadata: str, path: str, value: Any, test: str, values: list[Any]) -> tuple[str, list[Any]]:
    """The test, of values of the same kind alone."""
    return f"(json_type({metadata}, ?) IN {JSON_TYPES[value_kind(value)]} AND {test})", [path, *values]


def _bound(value: Any) -> tuple[str, list[Any]]:
    """A parameter; a float goes through JSON as the stored ones do, for SQLite's reading of decimals may round."""
    return ("json_extract(?, '$')", [json.dumps(value)]) if isinstance(value, float) else ("?", [value])


def _glob(pattern: str) -> str:
    """The pattern as GLOB's, which keeps upper and lower case apart, as SQLite's LIKE does not."""
    escaped = str.maketrans({mark: f"[{mark}]" for mark in "*?["})
    return "".join(GLOB[text] if wild else text.translate(escaped) for wild, text in pattern_parts(pattern))
