"""Metadata as dictionary-encoded columns (codes for sorted distinct values): a filter needs only one lookup per row.

A condition is evaluated on the distinct values (by bisection if it compares values), and the result is then looked up
for each row. The columns of a segment are computed from the journal; a test checks that they agree with
`filters.matches`.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...array_types import Bool, UInt
from ..filters.conditions import (
    AllOf,
    AnyOf,
    Compares,
    Condition,
    IsMissing,
    Leaf,
    MatchesPattern,
    OneOf,
    leaf_matches,
    value_kind,
)
from ..records import Value

KINDS = ("boolean", "number", "string")
Key = tuple[int, Any]
"""The rank of a value's kind, and the value itself, so that values of all kinds can be sorted together."""


class CodedColumn(NamedTuple):
    """The values of one metadata column in n rows: 0 if missing or null, otherwise 1 + the value's index in `keys`."""

    keys: list[Key]
    codes: UInt[np.ndarray, " n"]


class MetadataColumns(NamedTuple):
    """The metadata of n rows; a name without a column has no value in any row."""

    rows: int
    columns: Mapping[str, CodedColumn]

    def passing(self, condition: Condition) -> Bool[np.ndarray, " n"]:
        if isinstance(condition, AllOf | AnyOf):
            masks = [self.passing(part) for part in condition.conditions]
            return np.asarray((np.logical_and if isinstance(condition, AllOf) else np.logical_or).reduce(masks))
        column = self.columns.get(condition.column)
        if column is None:
            return np.full(self.rows, leaf_matches(condition, None))
        return np.asarray(passing_codes(condition, column.keys)[column.codes])


def passing_codes(leaf: Leaf, keys: Sequence[Key]) -> Bool[np.ndarray, " values"]:
    """Which codes of a column with these distinct values pass: `leaf_matches` for each value, but faster."""
    passing = np.zeros(len(keys) + 1, bool)
    match leaf:
        case IsMissing(_, negated):
            passing[0] = True
            return np.asarray(passing != negated)
        case Compares(_, operator, value):
            for part in _ranges(operator, keys, value):
                passing[1:][part] = True
        case OneOf(_, values, negated):
            for value in values:
                passing[1:][_equal(keys, key_of(value))] = True
            if negated:
                passing[1:][_of_kind(keys, values[0])] ^= True
        case MatchesPattern():
            strings = _of_kind(keys, "")
            passing[1:][strings] = [leaf_matches(leaf, value) for _, value in keys[strings]]
    return passing


def key_of(value: Any) -> Key:
    """The sort key of a non-null value: the rank of its kind and the value."""
    return KINDS.index(value_kind(value)), value


def _ranges(operator: str, keys: Sequence[Key], value: Any) -> list[slice]:
    kind, equal = _of_kind(keys, value), _equal(keys, key_of(value))
    below, above = slice(kind.start, equal.start), slice(equal.stop, kind.stop)
    parts = {"=": [equal], "!=": [below, above], "<": [below], "<=": [below, equal], ">": [above], ">=": [equal, above]}
    return parts[operator]


def _equal(keys: Sequence[Key], key: Key) -> slice:
    return slice(bisect_left(keys, key), bisect_right(keys, key))


def _of_kind(keys: Sequence[Key], value: Any) -> slice:
    place = KINDS.index(value_kind(value))
    return slice(bisect_left(keys, place, key=lambda key: key[0]), bisect_right(keys, place, key=lambda key: key[0]))


def coded(rows: int, metadata: Iterable[tuple[int, Mapping[str, Value]]]) -> MetadataColumns:
    """The columns for `rows` rows, from pairs of row position and values; rows without metadata need no pair."""
    places: dict[str, list[int]] = {}
    values: dict[str, list[Key]] = {}
    for place, row in metadata:
        for name, value in row.items():
            if value is not None:
                places.setdefault(name, []).append(place)
                values.setdefault(name, []).append(key_of(value))
    return MetadataColumns(rows, {name: _coded(rows, places[name], values[name]) for name in places})


def _coded(rows: int, places: list[int], values: list[Key]) -> CodedColumn:
    keys = sorted(set(values))
    numbers = {key: code for code, key in enumerate(keys, 1)}
    codes = np.zeros(rows, np.min_scalar_type(len(keys)))
    codes[places] = [numbers[value] for value in values]
    return CodedColumn(keys, codes)


def joined(first: MetadataColumns, second: MetadataColumns) -> MetadataColumns:
    nothing = [CodedColumn([], np.zeros(part.rows, np.uint8)) for part in (first, second)]
    names = first.columns.keys() | second.columns.keys()
    return MetadataColumns(
        first.rows + second.rows,
        {name: _joined(first.columns.get(name, nothing[0]), second.columns.get(name, nothing[1])) for name in names},
    )


def _joined(first: CodedColumn, second: CodedColumn) -> CodedColumn:
    keys = sorted({*first.keys, *second.keys})
    numbers = {key: code for code, key in enumerate(keys, 1)}
    dtype = np.min_scalar_type(len(keys))
    maps = [np.array([0, *(numbers[key] for key in part.keys)], dtype) for part in (first, second)]
    return CodedColumn(keys, np.concatenate([maps[0][first.codes], maps[1][second.codes]]))


def as_arrays(columns: MetadataColumns) -> dict[str, np.ndarray]:
    """Convert columns to arrays, which `from_arrays` converts back."""
    arrays: dict[str, np.ndarray] = {"rows": np.array(columns.rows)}
    for name, column in columns.columns.items():
        text = json.dumps([value for _, value in column.keys], ensure_ascii=False)
        arrays |= {f"codes {name}": column.codes, f"values {name}": np.frombuffer(text.encode(), np.uint8)}
    return arrays


def from_arrays(arrays: Mapping[str, np.ndarray]) -> MetadataColumns:
    """Restore columns from the arrays of `as_arrays`."""
    names = [name.removeprefix("codes ") for name in arrays if name.startswith("codes ")]
    values = {name: json.loads(arrays[f"values {name}"].tobytes()) for name in names}
    return MetadataColumns(
        int(arrays["rows"]),
        {name: CodedColumn([*map(key_of, values[name])], arrays[f"codes {name}"]) for name in names},
    )
