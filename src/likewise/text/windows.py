"""Which windows of a text are encoded: its beginning, or overlapping windows over all of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from .tokenizer import Tokenizer


@dataclass(frozen=True)
class TextWindow:
    """One input of the encoder: a whole text, its beginning, or one of several windows of it."""

    ids: list[int]  # with special tokens
    text_index: int
    content_length: int  # number of tokens without special ones
    prefix_length: int  # number of tokens before the text itself: special ones and the prompt


def first_windows(tokenizer: Tokenizer, contents: Sequence[list[int]], prompt: Sequence[int]) -> list[TextWindow]:
    """One window for each text: its beginning, up to the model's limit."""
    skip = len(tokenizer.prefix) + len(prompt)
    return [
        TextWindow(
            tokenizer.with_special_tokens(content[: tokenizer.max_content_length]),
            i,
            min(len(content), tokenizer.max_content_length),
            skip,
        )
        for i, content in enumerate(contents)
    ]


def overlapping_windows(tokenizer: Tokenizer, contents: Sequence[list[int]], prompt: Sequence[int]) -> list[TextWindow]:
    """The windows of each text, overlapping and evenly spread; each begins with the prompt.

    A tokenizer may merge the end of a prompt with the text that follows; later windows then begin with the tokens that
    the prompt alone and the prompt with the text have in common.
    """
    windows = []
    for i, content in enumerate(contents):
        same = (a == b for a, b in zip(prompt, content, strict=False))
        shared = list(prompt[: len(list(takewhile(bool, same)))])
        for n, window in enumerate(tokenizer.windows(content, shared)):
            prompt_length = len(shared) if n else len(prompt)
            skip = len(tokenizer.prefix) + prompt_length
            windows.append(TextWindow(tokenizer.with_special_tokens(window), i, len(window), skip))
    return windows
