"""Which characters of a text each token was read from, although the text is cleaned before it is tokenized."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

Spans = Int[np.ndarray, "T 2"]
"""Start and stop of every token, in characters of the text."""


def spans_in_original(text: str, cleaned: str, offsets: Sequence[tuple[int, int]], lowercase: bool) -> Spans:
    """Offsets into a cleaned text as offsets into the text itself.

    Cleaning lower-cases, which makes two characters of İ, and joins or replaces halves of surrogate pairs.
    """
    spans = np.asarray(offsets, np.int64).reshape(-1, 2)
    if len(text) == len(cleaned) and not any(_is_half(character) for character in text):
        return spans
    starts, stops = [], []  # of the character of the text behind each character of the cleaned one
    place = 0
    while place < len(text):
        pair = _is_half(text[place]) and text[place] < "\udc00" <= text[place + 1 : place + 2] <= "\udfff"
        stop = place + (2 if pair else 1)
        size = len(text[place].lower()) if lowercase else 1
        starts += [place] * size
        stops += [stop] * size
        place = stop
    assert len(starts) == len(cleaned), "the text was cleaned in another way than is followed here"
    first, last = spans.T
    where_starts, where_stops = np.asarray([*starts, len(text)]), np.asarray([0, *stops])
    return np.stack([where_starts[first], np.maximum(where_starts[first], where_stops[last])], axis=1)


def _is_half(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"
