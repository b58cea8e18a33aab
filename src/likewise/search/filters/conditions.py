"""Conditions: a filter's syntax tree, and a slow check of metadata against it, the reference for all indexes."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..records import Value

FilterValue = str | int | float | bool
"""A value that a condition compares with a column."""
Operator = Literal["=", "!=", "<", "<=", ">", ">="]

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""The function for each operator; strings are compared by code point."""
OPPOSITE: dict[str, Operator] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True)
class Compares:
    """`column operator value`."""

    column: str
    operator: Operator
    value: FilterValue


@dataclass(frozen=True)
class OneOf:
    """`column in (values)`, where all values are of one kind; negated: `not in`."""

    column: str
    values: tuple[FilterValue, ...]
    negated: bool = False


@dataclass(frozen=True)
class MatchesPattern:
    """`column like "pattern"`, which matches the whole string and is case-sensitive; negated: `not like`."""

    column: str
    pattern: str
    negated: bool = False


@dataclass(frozen=True)
class IsMissing:
    """`column is null`: the record lacks the column, or its value is null; negated: `is not null`."""

    column: str
    negated: bool = False


@dataclass(frozen=True)
class AllOf:
    """Conditions joined by `and`."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True)
class AnyOf:
    """Conditions joined by `or`."""

    conditions: tuple["Condition", ...]


Leaf = Compares | OneOf | MatchesPattern | IsMissing
Condition = Leaf | AllOf | AnyOf
"""The parser moves every `not` down to the leaves, so a leaf whose result is unknown can count as false."""


def matches(condition: Condition, metadata: Mapping[str, Value]) -> bool:
    match condition:
        case AllOf(conditions):
            return all(matches(part, metadata) for part in conditions)
        case AnyOf(conditions):
            return any(matches(part, metadata) for part in conditions)
        case _:
            return leaf_matches(condition, metadata.get(condition.column))


def leaf_matches(leaf: Leaf, value: Value) -> bool:
    """Whether a value of the leaf's column meets the condition; None stands for a record without that column."""
    match leaf:
        case IsMissing(_, negated):
            return (value is None) != negated
        case Compares(_, name, wanted):
            return value_kind(value) == value_kind(wanted) and COMPARE[name](value, wanted)
        case OneOf(_, values, negated):
            return value_kind(value) == value_kind(values[0]) and (value in values) != negated
        case MatchesPattern(_, pattern, negated):
            return isinstance(value, str) and (_expression(pattern).fullmatch(value) is not None) != negated


def value_kind(value: Value) -> str:
    """The kind of a value: `string`, `number`, `boolean` or `null`; only values of the same kind are compared."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def opposite(condition: Condition) -> Condition:
    """`not condition`, with `not` moved down to the leaves."""
    match condition:
        case AllOf(conditions):
            return AnyOf(tuple(map(opposite, conditions)))
        case AnyOf(conditions):
            return AllOf(tuple(map(opposite, conditions)))
        case Compares(column, name, value):
            return Compares(column, OPPOSITE[name], value)
        case OneOf(column, values, negated):
            return OneOf(column, values, not negated)
        case MatchesPattern(column, pattern, negated):
            return MatchesPattern(column, pattern, not negated)
        case IsMissing(column, negated):
            return IsMissing(column, not negated)


def leaves(condition: Condition) -> Iterator[Leaf]:
    """The comparisons in the tree, from left to right."""
    if isinstance(condition, AllOf | AnyOf):
        for part in condition.conditions:
            yield from leaves(part)
    else:
        yield condition


def named_columns(condition: Condition) -> list[str]:
    """The columns that the filter uses, in alphabetical order."""
    return sorted({leaf.column for leaf in leaves(condition)})


def pattern_parts(pattern: str) -> list[tuple[bool, str]]:
    r"""Split a `like` pattern into parts: whether each is a wildcard, and the wildcard or the literal text.

    >>> pattern_parts(r"50\%_%")
    [(False, '50%'), (True, '_'), (True, '%')]
    """
    parts: list[tuple[bool, str]] = []
    for found in re.finditer(r"(?s)\\(.?)|([%_])|([^\\%_]+)", pattern):
        escaped, wildcard, text = found.groups()
        if escaped is not None and escaped not in ("\\", "%", "_"):
            raise ValueError(r"expected \%, \_ or \\ in a pattern; found " + found[0])
        if wildcard:
            parts.append((True, wildcard))
        elif parts and not parts[-1][0]:
            parts[-1] = False, parts[-1][1] + (escaped or text)
        else:
            parts.append((False, escaped or text))
    return parts


def _expression(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression whose matching time is at most proportional to pattern length × text length.

    The part between two `%` has a fixed length, so its leftmost match is always right and needs no backtracking.
    """
    pieces = [""]
    for wild, text in pattern_parts(pattern):
        if wild and text == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if wild else re.escape(text)
    first, *between = pieces
    last = f".*{between.pop()}" if between else ""
    return re.compile(first + "".join(f"(?>.*?{piece})" for piece in between) + last, re.DOTALL)
