"""What may be encoded: any column or iterator of texts, taken a window at a time and checked text by text."""

from collections.abc import Iterable, Iterator, KeysView, Mapping, Set, Sized
from typing import Any

from ..errors import BadInput

TEXTS = 16_384  # of one window: enough for equal lengths to meet, little enough to forget
LETTERS = 1 << 24  # of one window, so that long texts do not pile up


def windows(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in order, in lists of bounded size; an error names the index of what is no text."""
    window: list[str] = []
    letters = 0
    for i, text in enumerate(_iterable(texts)):
        text = text.as_py() if hasattr(text, "as_py") else text  # Arrow's scalars
        if not isinstance(text, str):
            raise BadInput(f"texts[{i}] is {describe_value(text)}; wanted a str")
        window.append(text)
        letters += len(text)
        if len(window) == TEXTS or letters >= LETTERS:
            yield window
            window, letters = [], 0
    if window:
        yield window


def count(texts: Iterable[str]) -> int | None:
    """How many texts there are, if that can be known without taking them."""
    try:
        return len(texts) if isinstance(texts, Sized) else None
    except TypeError:  # an array of no dimensions, say, which `windows` refuses by name
        return None


def _iterable(texts: Any) -> Iterable[Any]:
    if isinstance(texts, str | bytes):
        raise BadInput(f"encode takes a list of texts, and got one {type(texts).__name__}: write encode([text])[0]")
    if isinstance(texts, Mapping | Set) and not isinstance(texts, KeysView):  # a dict's keys are in an order
        raise BadInput(f"encode takes texts in an order, and got a {type(texts).__name__}: give it a list")
    dimensions = getattr(texts, "ndim", 1)
    if dimensions == 0:
        raise BadInput(
            f"encode takes a list of texts, and got an array of 0 dimensions, {describe_value(texts)}: "
            "write encode([str(text)])"
        )
    if dimensions != 1:
        raise BadInput(f"encode takes one column of texts, and got a table of {dimensions} dimensions: name the column")
    if not isinstance(texts, Iterable):
        raise BadInput(f"encode takes a list, a column or an iterator of texts, and got {describe_value(texts)}")
    return texts


def is_list_of_rows(given: object, dimensions: int = 1) -> bool:
    """Whether something holds rows in an order: a list, a column or an iterator; no text, mapping, set or frame.

    An array has at most so many dimensions, and one at least.
    """
    unordered = isinstance(given, Mapping | Set) and not isinstance(given, KeysView)
    if isinstance(given, str | bytes | bytearray | type) or unordered or not isinstance(given, Iterable):
        return False
    return 1 <= getattr(given, "ndim", 1) <= dimensions


def describe_value(value: Any) -> str:
    """A value as an error shows it: its beginning and its type."""
    shown = repr(value)
    return f"{shown if len(shown) <= 40 else shown[:37] + '…'} ({type(value).__name__})"
