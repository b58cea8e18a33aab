"""The one path from texts to what an encoder reads: tokens behind a prompt, and windows of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..errors import BadInput
from .tokenizer import Tokenizer

TextOrIds = str | Sequence[int]
"""A text, or the token ids of one."""
TextName = Callable[[int], str]
"""What a text is called in messages, by its index."""
TEXTS: TextName = "texts[{}]".format


class TextWindow(NamedTuple):
    """One input of the encoder: a whole text, its beginning, or one of several windows of it."""

    ids: list[int]  # with special tokens
    place: int  # among the windows of its text: 0 for the first, so that windows of many texts can be put together
    content_length: int  # number of tokens without special ones
    hidden: int  # how many first tokens the pooling leaves out: those of a prompt and before it, mostly none


@dataclass(frozen=True)
class TokenizedTexts:
    """Texts as ids behind a prompt, without special tokens and not cut."""

    tokenizer: Tokenizer
    prompt: str
    contents: list[list[int]]
    overlong: Mapping[int, list[tuple[int, int]]]
    """Words that are too long to be read, by the text's index: the position of each word's token, and its length."""

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, inputs: Sequence[TextOrIds], prompt: str, name: TextName = TEXTS
    ) -> "TokenizedTexts":
        """The ids of each text behind the prompt; ids that are given get the prompt's ids before them.

        Raises:
            BadInput: a given id is not one of the tokenizer's.
        """
        texts = [prompt + one if isinstance(one, str) else "" for one in inputs]
        contents = tokenizer.token_ids(texts)
        tokenized = cls(tokenizer, prompt, contents, tokenizer.overlong_words(texts, contents))
        for i, one in enumerate(inputs):
            if not isinstance(one, str):
                contents[i] = tokenized.prompt_ids + _given_content(tokenizer, one, name(i))
        return tokenized

    @cached_property
    def prompt_ids(self) -> list[int]:
        """The ids of the prompt alone."""
        return self.tokenizer.token_ids([self.prompt])[0] if self.prompt else []

    @property
    def lengths(self) -> list[int]:
        """How many tokens each text has."""
        return [len(content) for content in self.contents]

    @property
    def used(self) -> list[int]:
        """How many of them the first window holds; tokens in place of words too long to be read do not count."""
        limit = self.tokenizer.max_content_length
        used = [min(length, limit) for length in self.lengths]
        for i, words in self.overlong.items():
            used[i] -= sum(position < limit for position, _ in words)
        return used

    def windows(self, *, hides_prompt: bool = False, overlapping: bool = False) -> list[TextWindow]:
        """The beginning of each text, up to the model's limit; if `overlapping`, windows over all of it."""
        tokenizer, limit = self.tokenizer, self.tokenizer.max_content_length
        hidden = len(tokenizer.prefix) + len(self.prompt_ids) if hides_prompt and self.prompt else 0
        windows: list[TextWindow] = []
        for content in self.contents:
            if overlapping and len(content) > limit:
                windows += self._overlapping(content, hidden)
            else:
                ids = tokenizer.with_special_tokens(content[:limit])
                windows.append(TextWindow(ids, 0, min(len(content), limit), hidden))
        return windows

    def _overlapping(self, content: list[int], hidden: int) -> list[TextWindow]:
        """The windows of a long text, overlapping and evenly spread; each begins with the prompt.

        A tokenizer may merge the end of a prompt with the text that follows; later windows then begin with the tokens
        that the prompt alone and the prompt with the text have in common.
        """
        same = (a == b for a, b in zip(self.prompt_ids, content, strict=False))
        shared = self.prompt_ids[: len(list(takewhile(bool, same)))]
        later = hidden and len(self.tokenizer.prefix) + len(shared)
        return [
            TextWindow(self.tokenizer.with_special_tokens(ids), place, len(ids), later if place else hidden)
            for place, ids in enumerate(self.tokenizer.windows(content, shared))
        ]


def _given_content(tokenizer: Tokenizer, ids: Sequence[int], name: str) -> list[int]:
    """Ids that came in place of a text, checked, without the special ones around them if they have these already."""
    unknown = next((i for i in ids if not 0 <= i < tokenizer.vocabulary), None)
    if unknown is not None:
        raise BadInput(f"{name} has the token id {unknown}; this model has the ids 0 to {tokenizer.vocabulary - 1:,}")
    start, stop = len(tokenizer.prefix), len(ids) - len(tokenizer.suffix)
    framed = start <= stop and tuple(ids[:start]) == tokenizer.prefix and tuple(ids[stop:]) == tokenizer.suffix
    return list(ids[start:stop] if framed else ids)


def check_readable(inputs: Sequence[Sequence[int]], tokenizer: Tokenizer, vocabulary: int, name: TextName) -> None:
    """Check that an encoder with this vocabulary size can read its inputs, special tokens included.

    Raises:
        BadInput: one has no tokens at all, or one that the encoder has no vector for.
    """
    if not all(inputs):
        empty = name(next(i for i, ids in enumerate(inputs) if not ids))
        raise BadInput(f"{empty} has no tokens, and this model puts no special ones around a text")
    unknown = tokenizer.first_out_of_vocabulary(inputs, vocabulary)
    if unknown is not None:
        raise BadInput(f"{name(unknown[0])} holds the token {unknown[1]!r}, for which the encoder has no vector")


def mean_of_windows(pooled: Float[np.ndarray, "P W"], windows: Sequence[TextWindow]) -> Float[np.ndarray, "N W"]:
    """The pooled vector of each text; of one that has several windows their mean, weighted by tokens.

    A text of one window keeps its bits: whether others have several must not change its vector.
    """
    starts = [i for i, window in enumerate(windows) if not window.place]
    if len(starts) == len(windows):
        return pooled
    means = pooled[starts]
    for text, (start, stop) in enumerate(zip(starts, [*starts[1:], len(windows)], strict=True)):
        if stop - start > 1:
            weights = np.asarray([window.content_length for window in windows[start:stop]], np.float32)
            means[text] = (pooled[start:stop] * weights[:, None]).sum(0) / weights.sum()
    return means
