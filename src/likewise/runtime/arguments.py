"""Checks of single arguments; each error names the argument, its value, and what was expected."""

import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TypeVar

from ..errors import BadInput

T = TypeVar("T")


def whole_number(name: str, value: object, least: int = 1) -> int:
    """Return the value as a plain int after checking that it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise BadInput(f"{name} is {value!r:.80}; expected a whole number, {least} or more")
    return int(value)


def real_number(name: str, value: object) -> float:
    """Return the value as a plain float after checking that it is a number other than NaN; infinity is accepted."""
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:
        raise BadInput(f"{name} is {value!r:.80}; expected a number")
    try:
        return float(value)
    except OverflowError:
        raise BadInput(f"{name} is too large for a float; expected a number") from None


def known_name(name: str, value: object, known: Iterable[str]) -> str:
    """Return the value after checking that it is one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise BadInput(f"{name} is {value!r:.80}; expected one of {', '.join(known)}")
    return value


def found_in_order(ids: Sequence[str], found: Mapping[str, T], location: str) -> list[T]:
    """Return what was found for each id, after checking that nothing is missing."""
    for name in ids:
        if name not in found:
            raise BadInput(f"the id {name!r} is not in {location}")
    return [found[name] for name in ids]


def regular_expression(name: str, pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern after checking that it is a regular expression."""
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadInput(f"{name} has {pattern!r:.200}, which is not a regular expression: {error}") from None
