"""A filter for Milvus: an expression over a JSON field in which each value lies under the name of its kind.

`{"number": {"year": 2020}, "string": {"lang": "en"}}`: so that a comparison is of values of one kind, and a value of
another kind is missing. Columns are identifiers, and values are written as literals with their quotes escaped: Milvus
has templates for values, but not its servers before version 2.5 and not Milvus Lite.
"""

from collections.abc import Mapping
from typing import Any

from ....errors import BadInput
from ...filters import Compares, Condition, IsMissing, Leaf, MatchesPattern, OneOf, joined_leaves, pattern_parts
from ...filters import value_kind as kind_of
from ...records import Value
from ..conversions import json_value

FIELD = "kinds"
KINDS = ("string", "number", "boolean", "null")
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
"""All that may not stand in a string as it is; Milvus Lite knows few other escapes."""
OPERATORS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def values_by_kind(metadata: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
    """What the JSON field holds of a record; of a null only that it is there."""
    kinds: dict[str, dict[str, Any]] = {}
    for name, value in metadata.items():
        kinds.setdefault(kind_of(value), {})[name] = True if value is None else value
    return kinds


def milvus_expression(condition: Condition) -> str:
    """The condition in Milvus' language.

    Raises:
        BadInput: a pattern of `like` escapes a character, which Milvus does not read everywhere.
    """
    return joined_leaves(condition, lambda leaf: f"({_leaf(leaf)})", "and", "or")


def milvus_has_column(column: str) -> str:
    """The expression for records that have the column, null or not."""
    return " or ".join(f"exists {_path(column, kind)}" for kind in KINDS)


def milvus_literal(value: Any) -> str:
    """A string in double quotes, a number without an exponent, true or false."""
    return f'"{value.translate(ESCAPES)}"' if isinstance(value, str) else json_value(value)


def _leaf(leaf: Leaf) -> str:
    match leaf:
        case IsMissing(column, negated):
            present = " or ".join(f"exists {_path(column, kind)}" for kind in KINDS[:3])
            return present if negated else f"not ({present})"
        case Compares(column, operator, value):
            path = _path(column, kind_of(value))
            return f"exists {path} and {path} {OPERATORS[operator]} {milvus_literal(value)}"
        case OneOf(column, values, negated):
            path = _path(column, kind_of(values[0]))
            tests = (f"{path} {'!=' if negated else '=='} {milvus_literal(value)}" for value in values)
            return f"exists {path} and ({(' and ' if negated else ' or ').join(tests)})"
        case MatchesPattern(column, pattern, negated):
            path, test = _path(column, "string"), milvus_literal(_unescaped(pattern))
            return f"exists {path} and {'not ' * negated}({path} like {test})"


def _path(column: str, kind: str) -> str:
    return f'{FIELD}["{kind}"]["{column}"]'


def _unescaped(pattern: str) -> str:
    if any(not wildcard and set(text) & set("%_\\") for wildcard, text in pattern_parts(pattern)):
        raise BadInput(f"the pattern {pattern!r} looks for a %, a _ or a backslash; Milvus cannot, other indexes can")
    return pattern
