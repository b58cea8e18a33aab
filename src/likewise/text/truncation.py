"""Truncation: which tokens of a text the model reads and which it does not; nothing is truncated silently."""

import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NoReturn, get_args

import numpy as np

from ..array_types import Int
from ..errors import BadInput, TooLong
from ..wording import counted, counted_of

Overflow = Literal["error", "warn", "truncate", "mean"]


@dataclass(frozen=True)
class TruncationReport:
    """How many tokens each text has and how many of them the model reads, excluding special tokens.

    A word with more characters than the tokenizer accepts (usually 100) becomes one unknown token, which carries no
    information and is not counted as used. `unread` maps a text's index to the total length of such words in it.
    """

    tokens: Int[np.ndarray, " N"]
    used: Int[np.ndarray, " N"]
    unread: Mapping[int, int] = field(default_factory=dict)

    @property
    def lost(self) -> Int[np.ndarray, " N"]:
        """Number of tokens that the model does not read: tokens beyond its limit, and one for each over-long word."""
        return np.asarray(self.tokens - self.used)

    @property
    def cut(self) -> Int[np.ndarray, " C"]:
        """Indices of the texts that lose tokens."""
        return np.flatnonzero(self.lost)


@dataclass
class Tally:
    """The number of texts in which something was found, the index of the first, and the largest value found."""

    count: int = 0
    first: int = 0
    largest: int = 0

    def add(self, found: Mapping[int, int], start: int) -> None:
        """Add the values found, keyed by the index of their text relative to `start`."""
        if found:
            self.first = self.first if self.count else start + min(found)
            self.count += len(found)
            self.largest = max(self.largest, *found.values())


@dataclass
class TruncationCounter:
    """Counts the texts (or pairs of texts) of one call, and those with more tokens than `limit`."""

    limit: int
    overflow: Overflow
    what: str = "texts"
    windows: bool = True  # whether overflow="mean" is possible
    skips: bool = False  # whether the tokenizer skips unknown words
    word_limit: int | None = None  # length of the longest word that the tokenizer splits, in characters
    texts: int = 0
    cut: Tally = field(default_factory=Tally)  # token counts of the texts over the limit
    empty: Tally = field(default_factory=Tally)
    unread: Tally = field(default_factory=Tally)  # lengths of over-long words, in characters

    def __post_init__(self) -> None:
        choices = get_args(Overflow) if self.windows else get_args(Overflow)[:-1]  # "mean" is the last
        if self.overflow not in choices:
            raise BadInput(f"overflow={self.overflow!r} is not possible here; expected one of {', '.join(choices)}")

    def add(
        self, lengths: Sequence[int] | Int[np.ndarray, " n"], long_words: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        counted = np.asarray(lengths, dtype=np.int64)
        over = {i: int(counted[i]) for i in np.flatnonzero(counted > self.limit).tolist()}
        if self.overflow == "error" and (over or long_words):
            self._raise_too_long(over, long_words)
        self.cut.add(over, self.texts)
        self.unread.add(long_words, self.texts)
        if self.skips:
            self.empty.add(dict.fromkeys(np.flatnonzero(counted == 0).tolist(), 0), self.texts)
        self.texts += len(counted)

    def _raise_too_long(self, over: Mapping[int, int], long_words: Mapping[int, int]) -> NoReturn:
        first = min([*over, *long_words])
        which = f"{self.what}[{self.texts + first}]"
        if first not in over:
            raise TooLong(
                f"{which} has a word of {long_words[first]:,} characters, and the tokenizer accepts words of up to "
                f"{self.word_limit or 0:,}: the model would read one unknown token in its place. Shorten or split such "
                'words; to encode the text without them, choose overflow="warn" or "truncate"'
            )
        choices = '"mean" (all of it, in windows), "warn"' if self.windows else '"warn"'
        raise TooLong(
            f"{which} has {over[first]:,} tokens, and the model reads {self.limit:,}. "
            f'To encode it anyway, choose overflow={choices} or "truncate" (only its beginning)'
        )

    def warn(self) -> None:
        """Warn of truncated texts and over-long words, depending on `overflow`, and of texts without any known word."""
        if self.unread.count and self.overflow in ("warn", "mean"):
            warnings.warn(
                f"{self._subject(self.unread.count, 'has', 'have')} words of more than {self.word_limit} characters, "
                "which the tokenizer does not split: the model reads one unknown token for each (the "
                f"first is {self.what}[{self.unread.first}], the longest word has {self.unread.largest:,} characters). "
                'overflow="truncate" silences this',
                stacklevel=caller_stacklevel(),
            )
        if self.empty.count:
            warnings.warn(
                f"{self._subject(self.empty.count, 'contains', 'contain')} no word that this model knows (the first is "
                f"texts[{self.empty.first}]); each is encoded as the unknown word, whose vector is zero",
                stacklevel=caller_stacklevel(),
            )
        if self.cut.count and self.overflow == "warn":
            alternative = 'overflow="mean" reads all of them, ' if self.windows else ""
            warnings.warn(
                f"{self._subject(self.cut.count, 'was', 'were')} truncated to the {self.limit} tokens that the model "
                "reads, excluding special tokens "
                f"(the first is {self.what}[{self.cut.first}], the longest has {self.cut.largest:,} tokens). "
                f'{alternative}overflow="truncate" silences this',
                stacklevel=caller_stacklevel(),
            )

    def _subject(self, count: int, singular: str, plural: str) -> str:
        """`1 of 5 texts was`, `2 of 5 texts were`, `1 of 1 text was`."""
        noun = re.sub("s$", "", re.sub("ies$", "y", self.what))
        return counted_of(count, counted(self.texts, noun, self.what), singular, plural)


def longest_words(long_words: Int[np.ndarray, "W 3"], rows: Int[np.ndarray, " n"] | None = None) -> dict[int, int]:
    """The length of each text's longest unread word (`EncodedTexts.long_words`), keyed by the text's index.

    `rows`, if passed, gives the index of the distinct text for each text that is counted.
    """
    longest: dict[int, int] = {}
    for i, _, length in long_words.tolist():
        longest[i] = max(length, longest.get(i, 0))
    return longest if rows is None or not longest else of_rows(longest, rows)


def of_rows(longest: Mapping[int, int], rows: Int[np.ndarray, " n"]) -> dict[int, int]:
    """The lengths in `longest`, keyed by the texts that are counted instead of the distinct texts."""
    return {i: longest[row] for i, row in enumerate(rows.tolist()) if row in longest}


def caller_stacklevel() -> int:
    """The `stacklevel` at which a warning points to the line that called this package."""
    level, frame, ours = 1, sys._getframe(1), ("likewise", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in ours:
        level, frame = level + 1, frame.f_back
    return level
