"""Why no record passes a filter: it compares a column with a value of another type, or files with a relative path."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...search.filters.conditions import FilterValue, Leaf
    from ...search.index import Index

NAMES = {"string": "texts", "number": "numbers", "boolean": "true or false"}
OF_KIND = {"string": "`{0}` like '%'", "number": "`{0}` < 0 or `{0}` >= 0", "boolean": "`{0}` in (true, false)"}
"""Filters that pass every record whose value is of this kind."""


def filter_hints(index: "Index", condition: str) -> Iterator[str]:
    """For each comparison that no record can pass, what its column contains and, if possible, what to write instead."""
    from ...files.documents import stored_path
    from ...runtime.home_folder import expanded
    from ...search.filters import parse_filter
    from ...search.filters.conditions import leaves, value_kind

    for leaf in leaves(parse_filter(condition)):
        value = _value(leaf)
        if value is None:
            continue
        held = [kind for kind, passing in OF_KIND.items() if index.count(passing.format(leaf.column))]
        if held and value_kind(value) not in held:
            kinds = " and ".join(NAMES[kind] for kind in held)
            yield f"{leaf.column} contains {kinds}, not {NAMES[value_kind(value)]}{_rewritten(leaf, held)}"
        elif leaf.column == "file" and _is_relative(value) and _has_absolute_files(index):
            yield f"file contains absolute paths: write {_literal(stored_path(expanded(str(value))))}"


def _value(leaf: "Leaf") -> "FilterValue | None":
    """The value that the column is compared with; the first one if there are several, all of the same kind."""
    from ...search.filters.conditions import Compares, MatchesPattern, OneOf

    match leaf:
        case Compares(_, _, value) | OneOf(_, (value, *_), _) | MatchesPattern(_, value, _):
            return value
        case _:
            return None


def _rewritten(leaf: "Leaf", held: list[str]) -> str:
    """The comparison with the number as a text, or the text as a number, if the column contains values of that type."""
    from ...files.front_matter import number_in
    from ...search.filters.conditions import Compares, value_kind

    if not isinstance(leaf, Compares) or isinstance(leaf.value, bool):
        return ""
    other = number_in(leaf.value) if isinstance(leaf.value, str) else str(leaf.value)
    return f": write {leaf.column} {leaf.operator} {_literal(other)}" if value_kind(other) in held else ""


def _literal(value: str | float) -> str:
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(value)


def _is_relative(value: object) -> bool:
    return isinstance(value, str) and not value.startswith("%") and not os.path.isabs(value)  # noqa: PTH117


def _has_absolute_files(index: "Index") -> bool:
    first = next(index.records(1), None)
    return first is not None and any(os.path.isabs(str(row.get("file", ""))) for row in first.metadata or ())  # noqa: PTH117
