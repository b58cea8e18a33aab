"""A filter for PostgreSQL: a WHERE expression over a jsonb column, with parameters for every name and value."""

from typing import Any

from ...filters import Compares, Condition, FilterValue, IsMissing, Leaf, MatchesPattern, OneOf, with_parameters
from ...filters import value_kind as kind_of
from ..conversions import json_value

TEXT = '(metadata ->> %s) COLLATE "C"'  # the order of code points
JSON = "(metadata -> %s)"


def postgres_where(condition: Condition) -> tuple[str, list[Any]]:
    """The expression over the column `metadata` and its parameters; in the expression are only fixed words of SQL."""
    return with_parameters(condition, _leaf)


def _leaf(leaf: Leaf) -> tuple[str, list[Any]]:
    match leaf:
        case IsMissing(column, negated):
            return f"(metadata ->> %s) IS {'NOT ' * negated}NULL", [column]
        case Compares(column, operator, value):
            return _compared(column, value, operator, "{}", _bound(value))
        case OneOf(column, values, negated):
            choices = [_bound(value) for value in values]
            return _compared(
                column, values[0], "<>" if negated else "=", "ALL({}[])" if negated else "ANY({}[])", choices
            )
        case MatchesPattern(column, pattern, negated):
            return _compared(column, pattern, "NOT LIKE" if negated else "LIKE", "{}", pattern)


def _compared(column: str, value: FilterValue, operator: str, form: str, bound: Any) -> tuple[str, list[Any]]:
    """The comparison, of values of the same kind alone; numbers and booleans are compared as jsonb, without a cast."""
    kind = kind_of(value)
    left, right = (TEXT, "%s::text") if kind == "string" else (JSON, "%s::jsonb")
    test = f"{left} {operator} {form.format(right)}"
    return f"(jsonb_typeof(metadata -> %s) = '{kind}' AND {test})", [column, column, bound]


def _bound(value: FilterValue) -> str:
    return value if isinstance(value, str) else json_value(value)
