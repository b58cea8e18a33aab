"""Translate filters for SQLite, PostgreSQL and Milvus; names and values are only passed in quotes or as parameters."""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from ...errors import BadInput
from ..records import Value
from .conditions import (
    AllOf,
    AnyOf,
    Compares,
    Condition,
    FilterValue,
    IsMissing,
    Leaf,
    MatchesPattern,
    OneOf,
    pattern_parts,
    value_kind,
)


def joined_leaves(condition: Condition, leaf: Callable[[Leaf], str], all_of: str = "AND", any_of: str = "OR") -> str:
    """The condition as an expression; `all_of` and `any_of` are the language's words for `and` and `or`."""
    if isinstance(condition, AllOf | AnyOf):
        word = all_of if isinstance(condition, AllOf) else any_of
        parts = [joined_leaves(part, leaf, all_of, any_of) for part in condition.conditions]
        return f"({f' {word} '.join(parts)})"
    return leaf(condition)


def with_parameters(condition: Condition, leaf: Callable[[Leaf], tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    """The condition as an SQL expression with its parameters in order; `leaf` returns both for one comparison."""
    parameters: list[Any] = []

    def expression(one: Leaf) -> str:
        text, own = leaf(one)
        parameters.extend(own)
        return text

    return joined_leaves(condition, expression), parameters


def json_value(value: Value) -> str:
    """Like `json.dumps`, but without exponents in floats, because PostgreSQL would write 1e+22 as an integer."""
    if not isinstance(value, float) or "e" not in repr(value):
        return json.dumps(value, ensure_ascii=False)
    digits = f"{Decimal(value) if abs(value) >= 1 else Decimal(repr(value)):f}"
    return digits if "." in digits else f"{digits}.0"


JSON_TYPES = {"string": "('text')", "number": "('integer', 'real')", "boolean": "('true', 'false')"}
"""The names that `json_type` returns for values of each kind."""
GLOB = {"%": "*", "_": "?"}


def sqlite_where(condition: Condition, metadata: str = "metadata") -> tuple[str, list[Any]]:
    """The condition in SQL, and its parameters; `metadata` names the SQL column that holds a JSON object or NULL.

    The SQL consists of that name, which the caller chooses, and fixed text.
    """
    return with_parameters(condition, lambda leaf: _sqlite_leaf(leaf, metadata, '$."' + leaf.column + '"'))


def _sqlite_leaf(leaf: Leaf, metadata: str, path: str) -> tuple[str, list[Any]]:
    extracted = f"json_extract({metadata}, ?)"
    match leaf:
        case IsMissing(_, negated):
            return f"({extracted} IS {'NOT ' * negated}NULL)", [path]
        case Compares(_, operator, value):
            marks, values = _sqlite_value(value)
            return _sqlite_test(metadata, path, value, f"{extracted} {operator} {marks}", [path, *values])
        case OneOf(_, choices, negated):
            test = f"{extracted} {'NOT ' * negated}IN (SELECT value FROM json_each(?))"
            return _sqlite_test(metadata, path, choices[0], test, [path, json.dumps(choices)])
        case MatchesPattern(_, pattern, negated):
            return _sqlite_test(metadata, path, "", f"{extracted} {'NOT ' * negated}GLOB ?", [path, _glob(pattern)])


def _sqlite_test(metadata: str, path: str, value: Any, test: str, values: list[Any]) -> tuple[str, list[Any]]:
    """Restrict the test to values of the same kind."""
    return f"(json_type({metadata}, ?) IN {JSON_TYPES[value_kind(value)]} AND {test})", [path, *values]


def _sqlite_value(value: Any) -> tuple[str, list[Any]]:
    """A parameter; floats go through JSON like stored floats, because SQLite may round when it parses decimals."""
    return ("json_extract(?, '$')", [json.dumps(value)]) if isinstance(value, float) else ("?", [value])


def _glob(pattern: str) -> str:
    """Convert a pattern to GLOB, which is case-sensitive, unlike SQLite's LIKE."""
    escaped = str.maketrans({mark: f"[{mark}]" for mark in "*?["})
    return "".join(GLOB[text] if wild else text.translate(escaped) for wild, text in pattern_parts(pattern))


POSTGRES_TEXT = '(metadata ->> %s) COLLATE "C"'  # ordered by code point
POSTGRES_JSON = "(metadata -> %s)"


def postgres_where(condition: Condition) -> tuple[str, list[Any]]:
    """The condition in SQL over the column `metadata`, and its parameters; the SQL consists of fixed text only."""
    return with_parameters(condition, _postgres_leaf)


def _postgres_leaf(leaf: Leaf) -> tuple[str, list[Any]]:
    match leaf:
        case IsMissing(column, negated):
            return f"(metadata ->> %s) IS {'NOT ' * negated}NULL", [column]
        case Compares(column, operator, value):
            return _postgres_test(column, value, operator, "{}", value if isinstance(value, str) else json_value(value))
        case OneOf(column, values, negated):
            choices = [value if isinstance(value, str) else json_value(value) for value in values]
            return _postgres_test(
                column, values[0], "<>" if negated else "=", "ALL({}[])" if negated else "ANY({}[])", choices
            )
        case MatchesPattern(column, pattern, negated):
            return _postgres_test(column, pattern, "NOT LIKE" if negated else "LIKE", "{}", pattern)


def _postgres_test(column: str, value: FilterValue, operator: str, form: str, bound: Any) -> tuple[str, list[Any]]:
    """Compare only values of the same kind; numbers and booleans are compared as jsonb, without a cast."""
    kind = value_kind(value)
    left, right = (POSTGRES_TEXT, "%s::text") if kind == "string" else (POSTGRES_JSON, "%s::jsonb")
    test = f"{left} {operator} {form.format(right)}"
    return f"(jsonb_typeof(metadata -> %s) = '{kind}' AND {test})", [column, column, bound]


FIELD = "kinds"
KINDS = ("string", "number", "boolean", "null")
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
"""The characters that must be escaped in a string; Milvus Lite supports few other escapes."""


def values_by_kind(metadata: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
    """The content of a record's JSON field; for null, it only records that the column exists."""
    kinds: dict[str, dict[str, Any]] = {}
    for name, value in metadata.items():
        kinds.setdefault(value_kind(value), {})[name] = True if value is None else value
    return kinds


def milvus_expression(condition: Condition) -> str:
    return joined_leaves(condition, lambda leaf: f"({_milvus_leaf(leaf)})", "and", "or")


def milvus_has_column(column: str) -> str:
    """An expression that selects the records that have this column, even if its value is null."""
    return " or ".join(f"exists {_milvus_path(column, kind)}" for kind in KINDS)


def milvus_literal(value: Any) -> str:
    """A value in Milvus syntax: a string in double quotes, a number without an exponent, true or false."""
    return f'"{value.translate(ESCAPES)}"' if isinstance(value, str) else json_value(value)


def _milvus_leaf(leaf: Leaf) -> str:
    match leaf:
        case IsMissing(column, negated):
            present = " or ".join(f"exists {_milvus_path(column, kind)}" for kind in KINDS[:3])
            return present if negated else f"not ({present})"
        case Compares(column, operator, value):
            path = _milvus_path(column, value_kind(value))
            return f"exists {path} and {path} {'==' if operator == '=' else operator} {milvus_literal(value)}"
        case OneOf(column, values, negated):
            path = _milvus_path(column, value_kind(values[0]))
            tests = (f"{path} {'!=' if negated else '=='} {milvus_literal(value)}" for value in values)
            return f"exists {path} and ({(' and ' if negated else ' or ').join(tests)})"
        case MatchesPattern(column, pattern, negated):
            path, test = _milvus_path(column, "string"), milvus_literal(_unescaped(pattern))
            return f"exists {path} and {'not ' * negated}({path} like {test})"


def _milvus_path(column: str, kind: str) -> str:
    return f'{FIELD}["{kind}"]["{column}"]'


def _unescaped(pattern: str) -> str:
    if any(not wildcard and set(text) & set("%_\\") for wildcard, text in pattern_parts(pattern)):
        raise BadInput(
            f"the pattern {pattern!r} has a literal %, _ or backslash, which Milvus cannot match; other indexes can"
        )
    return pattern
