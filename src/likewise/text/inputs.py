"""Which inputs can be encoded: any column or iterator of texts, read in chunks and checked text by text."""

from collections.abc import Iterable, Iterator, KeysView, Mapping, Set, Sized
from typing import Any

from ..errors import BadInput

TEXTS = 16_384  # of one chunk: enough for many equal lengths, few enough to be kept in memory
CHARACTERS = 1 << 24  # of one chunk, so that long texts do not pile up


def text_chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in order, in lists of bounded size.

    Raises:
        BadInput: the input is not a list, column or iterator of texts; the error names the index of a wrong item.
    """
    chunk: list[str] = []
    characters = 0
    for i, text in enumerate(_iterable(texts)):
        text = text.as_py() if hasattr(text, "as_py") else text  # Arrow's scalars
        if not isinstance(text, str):
            raise BadInput(f"texts[{i}] is {describe_value(text)}; expected a str")
        chunk.append(text)
        characters += len(text)
        if len(chunk) == TEXTS or characters >= CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def count_texts(texts: Iterable[str]) -> int | None:
    """The number of texts, if it is known without iterating over them."""
    try:
        return len(texts) if isinstance(texts, Sized) else None
    except TypeError:  # an array of 0 dimensions, say, for which `text_chunks` raises
        return None


def _iterable(texts: Any) -> Iterable[Any]:
    if isinstance(texts, str | bytes):
        raise BadInput(f"encode expects a list of texts, but got one {type(texts).__name__}: write encode([text])[0]")
    if isinstance(texts, Mapping | Set) and not isinstance(texts, KeysView):  # a dict's keys are ordered
        raise BadInput(f"encode expects texts in an order, but got a {type(texts).__name__}: pass a list")
    dimensions = getattr(texts, "ndim", 1)
    if dimensions == 0:
        raise BadInput(
            f"encode expects a list of texts, but got an array of 0 dimensions, {describe_value(texts)}: "
            "write encode([str(text)])"
        )
    if dimensions != 1:
        raise BadInput(
            f"encode expects one column of texts, but got a table of {dimensions} dimensions: select the column"
        )
    if not isinstance(texts, Iterable):
        raise BadInput(f"encode expects a list, a column or an iterator of texts, but got {describe_value(texts)}")
    return texts


def is_list_of_rows(given: object, dimensions: int = 1) -> bool:
    """Whether something holds rows in an order: a list, a column or an iterator; no text, mapping, set or frame.

    An array has between one and this many dimensions.
    """
    unordered = isinstance(given, Mapping | Set) and not isinstance(given, KeysView)
    if isinstance(given, str | bytes | bytearray | type) or unordered or not isinstance(given, Iterable):
        return False
    return 1 <= getattr(given, "ndim", 1) <= dimensions


def describe_value(value: Any) -> str:
    """A value as errors show it: the beginning of its repr, and its type."""
    shown = repr(value)
    return f"{shown if len(shown) <= 40 else shown[:37] + '…'} ({type(value).__name__})"
