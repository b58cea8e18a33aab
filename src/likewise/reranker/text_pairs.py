"""Input for scoring: pairs of texts, or two columns of texts; every text is checked."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from ..errors import BadInput
from ..text.inputs import CHUNK_TEXTS, checked_text, checked_texts, describe_value, is_list_of_rows

T = TypeVar("T", bound=Hashable)
TextPairs = Iterable[Any]
"""Pairs of texts: tuples, lists, or the rows of an array."""


def columns(pairs: TextPairs, documents: Iterable[str] | None = None) -> tuple[list[str], list[str]]:
    """The first and second texts of all pairs, from pairs or from two columns of equal length."""
    if documents is None:
        if not is_list_of_rows(pairs, 2):
            expected = "a list of pairs of texts, or two lists of texts"
            raise BadInput(f"pairs is {describe_value(pairs)}; expected {expected}")
        both = [_two(i, pair) for i, pair in enumerate(pairs)]
        return [first for first, _ in both], [second for _, second in both]
    first, second = checked_texts(pairs, "queries"), checked_texts(documents, "documents")
    if len(first) != len(second):
        raise BadInput(
            f"there are {len(first):,} queries and {len(second):,} documents; expected a document for every query "
            "(rank takes one query and many documents)"
        )
    return first, second


def in_windows(items: Sequence[T], largest: int | None = None) -> Iterator[Sequence[T]]:
    """Split the items into parts of at most `largest`."""
    size = min(CHUNK_TEXTS, largest or CHUNK_TEXTS)
    return (items[start : start + size] for start in range(0, len(items), size))


def _two(i: int, pair: Any) -> tuple[str, str]:
    texts = None if isinstance(pair, str | bytes | dict | set) or not isinstance(pair, Iterable) else list(pair)
    if texts is None or len(texts) != 2:
        raise BadInput(f"pairs[{i}] is {describe_value(pair)}; expected two texts")
    return checked_text(texts[0], f"pairs[{i}][0]"), checked_text(texts[1], f"pairs[{i}][1]")
