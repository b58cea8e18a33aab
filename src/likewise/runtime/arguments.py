"""Checks of single arguments: an error names the argument, what it is, and what was expected."""

from collections.abc import Iterable
from numbers import Integral, Real

from ..errors import BadInput


def whole_number(name: str, value: object, least: int = 1) -> int:
    """The value as a plain int, checked to be a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise BadInput(f"{name} is {value!r:.80}; expected a whole number, {least} or more")
    return int(value)


def real_number(name: str, value: object) -> float:
    """The value as a plain float, checked to be a number other than NaN; infinity is accepted."""
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:
        raise BadInput(f"{name} is {value!r:.80}; expected a number")
    try:
        return float(value)
    except OverflowError:
        raise BadInput(f"{name} is larger than any float; expected a number") from None


def known_name(name: str, value: object, known: Iterable[str]) -> str:
    """The value, checked to be one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise BadInput(f"{name} is {value!r:.80}; expected one of {', '.join(known)}")
    return value
