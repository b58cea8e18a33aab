"""What every backend refuses, in the same words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from ...errors import BadInput

T = TypeVar("T")


def id_list(ids: Sequence[str]) -> list[str]:
    """The ids as a list.

    Raises:
        BadInput: they are one string, whose letters would pass for ids.
    """
    if isinstance(ids, str):
        raise BadInput(f"expected a list of ids; got the one string {ids!r}")
    return list(ids)


def found_in_order(ids: Sequence[str], found: Mapping[str, T], location: str) -> list[T]:
    """What was found under each of the ids.

    Raises:
        BadInput: nothing was found under one.
    """
    for name in ids:
        if name not in found:
            raise BadInput(f"the id {name!r} is not in {location}")
    return [found[name] for name in ids]


def check_new(existing: Iterable[object], location: str) -> None:
    """Refuse to add records whose ids exist; `existing` are those that do.

    Raises:
        BadInput: names one.
    """
    for name in existing:
        raise BadInput(f"the id {name!r} is in {location} already; upsert replaces it")


def check_not_read_only(location: str, read_only: bool) -> None:
    """Refuse to write to an index that was opened to be read.

    Raises:
        BadInput: it was.
    """
    if read_only:
        raise BadInput(f"{location} was opened read-only; open it without read_only to write")


def unknown_filter_column(column: str, location: str) -> BadInput:
    """The error for a filter over a column that no record has."""
    return BadInput(f"no record of {location} has the column {column!r} of the filter")
