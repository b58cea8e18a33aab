"""What is encoded of each text: its beginning, or windows over all of it; and which of a piece's tokens are prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from .tokenizer import Tokenizer


@dataclass(frozen=True)
class TextWindow:
    """Framed ids of one piece, the text that it is of, how many tokens of text it has, and of prompt before them."""

    ids: list[int]
    owner: int
    weight: int
    lead: int


def first_windows(tokenizer: Tokenizer, contents: Sequence[list[int]], lead: Sequence[int]) -> list[TextWindow]:
    """One piece a text: as much of it as the model reads."""
    skip = len(tokenizer.prefix) + len(lead)
    return [
        TextWindow(tokenizer.framed(content[: tokenizer.room]), i, min(len(content), tokenizer.room), skip)
        for i, content in enumerate(contents)
    ]


def overlapping_windows(tokenizer: Tokenizer, contents: Sequence[list[int]], lead: Sequence[int]) -> list[TextWindow]:
    """The pieces of each text, overlapping and evenly spread; a prompt stands before every one of them.

    A tokenizer may join the end of a prompt with the text behind it; what then stands before the later windows is
    the part that the prompt alone and the prompt with the text have in common.
    """
    found = []
    for i, content in enumerate(contents):
        same = (a == b for a, b in zip(lead, content, strict=False))
        shared = list(lead[: len(list(takewhile(bool, same)))])
        for n, window in enumerate(tokenizer.windows(content, shared)):
            before = len(shared) if n else len(lead)
            found.append(TextWindow(tokenizer.framed(window), i, len(window), len(tokenizer.prefix) + before))
    return found
