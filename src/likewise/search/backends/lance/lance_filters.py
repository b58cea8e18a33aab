"""A filter for LanceDB: an SQL expression over a JSON column in which each name begins with the kind of its value.

`{"integer:year": 2020, "string:lang": "en"}`: so that a comparison is of values of one kind. LanceDB takes no
parameters: columns are identifiers, and values are written as literals of SQL, with their quotes doubled.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...filters import Compares, Condition, FilterValue, IsMissing, Leaf, MatchesPattern, OneOf, joined_leaves
from ...filters import value_kind as kind_of
from ...records import Value
from ..conversions import json_value

FIELD = "kinds"
READERS = {
    "string": ("json_get_string(kinds, 'string:{}')",),
    "number": ("json_get_int(kinds, 'integer:{}')", "json_get_float(kinds, 'float:{}')"),
    "boolean": ("json_get_bool(kinds, 'boolean:{}')",),
    "null": ("json_get_bool(kinds, 'null:{}')",),
}
"""What reads a column's values of a kind, or NULL where they are of another or missing."""


def kinds_in_names(metadata: Mapping[str, Value]) -> dict[str, Any]:
    """What the JSON column holds of a record; of a null only that it is there."""
    return {f"{_kind(value)}:{name}": True if value is None else value for name, value in metadata.items()}


def _kind(value: Value) -> str:
    kind = kind_of(value)
    return {int: "integer", float: "float"}[type(value)] if kind == "number" else kind


def lance_expression(condition: Condition) -> str:
    """The condition as SQL."""
    return joined_leaves(condition, lambda leaf: f"({_leaf(leaf)})")


def lance_has_column(column: str, kinds: Sequence[str] = tuple(READERS)) -> str:
    """The expression for records that have the column with a value of one of these kinds."""
    return " OR ".join(f"{reader.format(column)} IS NOT NULL" for kind in kinds for reader in READERS[kind])


def among(expression: str, values: Sequence[FilterValue]) -> str:
    """The expression for values of a list."""
    return f"{expression} IN ({', '.join(map(sql_literal, values))})"


def sql_literal(value: FilterValue) -> str:
    """A string in single quotes, a number without an exponent, true or false."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else json_value(value)


def _leaf(leaf: Leaf) -> str:
    match leaf:
        case IsMissing(column, negated):
            present = lance_has_column(column, ("string", "number", "boolean"))
            return present if negated else f"NOT ({present})"
        case Compares(column, operator, value):
            return _any(column, value, f"{{}} {operator} {_escaped(sql_literal(value))}")
        case OneOf(column, values, negated):
            test = ", ".join(map(sql_literal, values))
            return _any(column, values[0], f"{{}} {'NOT ' * negated}IN ({_escaped(test)})")
        case MatchesPattern(column, pattern, negated):
            return _any(column, pattern, f"{{}} {'NOT ' * negated}LIKE {_escaped(sql_literal(pattern))}")


def _any(column: str, value: FilterValue, test: str) -> str:
    """The test of the column's value of the same kind as `value`; NULL, which passes nothing, where there is none."""
    return " OR ".join(test.format(reader.format(column)) for reader in READERS[kind_of(value)])


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
