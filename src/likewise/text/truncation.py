"""What of a text the model reads, and what it loses: nothing is cut without a word."""

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NoReturn, get_args

import numpy as np
from jaxtyping import Int

from ..errors import BadInput, TooLong

Overflow = Literal["error", "warn", "truncate", "mean"]


@dataclass(frozen=True)
class TruncationReport:
    """What the model reads of each text, in tokens without the special ones.

    A word of more characters than the tokenizer takes (100, mostly) is one token, the unknown one, which says nothing
    of it: such a token is not among those used. `unread` has the characters of such words, by the text's index.
    """

    tokens: Int[np.ndarray, " N"]
    used: Int[np.ndarray, " N"]
    unread: Mapping[int, int] = field(default_factory=dict)

    @property
    def lost(self) -> Int[np.ndarray, " N"]:
        """Tokens that the model does not read: those beyond its limit, and one for each word that is too long."""
        return np.asarray(self.tokens - self.used)

    @property
    def cut(self) -> Int[np.ndarray, " C"]:
        """Indices of the texts that lose something."""
        return np.flatnonzero(self.lost)


@dataclass
class TruncationCounter:
    """Texts (or pairs of texts) seen by one call so far, and those that have more tokens than `room`."""

    room: int
    overflow: Overflow
    what: str = "texts"
    windows: bool = True  # whether overflow="mean" is a way out
    texts: int = 0
    cut: int = 0
    first: int | None = None
    longest: int = 0
    skips: bool = False  # whether words that the model does not know are left out
    empty: int = 0
    first_empty: int | None = None
    word_limit: int | None = None  # characters of the longest word that the tokenizer splits
    unread: int = 0
    first_unread: int | None = None
    longest_word: int = 0

    def __post_init__(self) -> None:
        ways = [way for way in get_args(Overflow) if way != "mean" or self.windows]
        if self.overflow not in ways:
            raise BadInput(f"there is no overflow={self.overflow!r} here; there are {', '.join(ways)}")

    def add(
        self, lengths: Sequence[int] | Int[np.ndarray, " n"], long_words: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        """Counts texts of these many tokens; under "error" the first that loses something raises.

        `long_words`, by a text's number among these, are the characters of its longest word that is too long.
        """
        counted = np.asarray(lengths, dtype=np.int64)
        over = np.flatnonzero(counted > self.room)
        if self.overflow == "error" and (len(over) or long_words):
            self._refuse(counted, over, long_words)
        if len(over):
            self.cut += len(over)
            self.first = self.texts + int(over[0]) if self.first is None else self.first
            self.longest = max(self.longest, int(counted.max()))
        if long_words:
            self.unread += len(long_words)
            self.first_unread = self.texts + min(long_words) if self.first_unread is None else self.first_unread
            self.longest_word = max(self.longest_word, *long_words.values())
        nothing = np.flatnonzero(counted == 0) if self.skips else counted[:0]
        if len(nothing):
            self.empty += len(nothing)
            self.first_empty = self.texts + int(nothing[0]) if self.first_empty is None else self.first_empty
        self.texts += len(counted)

    def _refuse(
        self, counted: Int[np.ndarray, " n"], over: Int[np.ndarray, " o"], long_words: Mapping[int, int]
    ) -> NoReturn:
        """The error that names the first text of which something is lost."""
        first = min(*over[:1].tolist(), *long_words, len(counted))
        which = f"{self.what}[{self.texts + first}]"
        if first not in over:
            raise TooLong(
                f"{which} has a word of {long_words[first]:,} characters, and the tokenizer takes words of "
                f"{self.word_limit or 0:,}: the model would read one unknown token in its place. Shorten or split such "
                'words; to go on without them, choose overflow="warn" or "truncate"'
            )
        ways = '"mean" (all of it, in windows), "warn"' if self.windows else '"warn"'
        raise TooLong(
            f"{which} has {int(counted[first]):,} tokens and the model reads {self.room:,}. "
            f'To go on, choose overflow={ways} or "truncate" (its beginning)'
        )

    def warn(self) -> None:
        """Says what was cut, under "warn"; what windows do not help; and which texts have no word that is known."""
        if self.unread and self.overflow in ("warn", "mean"):
            warnings.warn(
                f"{self.unread:,} of {self.texts:,} {self.what} have words of more than {self.word_limit} characters, "
                "which the tokenizer does not split: the model reads one unknown token in the place of each (the "
                f"first is {self.what}[{self.first_unread}], the longest word has {self.longest_word:,} characters). "
                'overflow="truncate" silences this',
                stacklevel=caller_stacklevel(),
            )
        if self.empty:
            warnings.warn(
                f"{self.empty:,} of {self.texts:,} texts hold no word that this model knows (the first is "
                f"texts[{self.first_empty}]); each stands for the unknown word, whose vector is zero",
                stacklevel=caller_stacklevel(),
            )
        if self.cut and self.overflow == "warn":
            whole = 'overflow="mean" reads all of them, ' if self.windows else ""
            warnings.warn(
                f"{self.cut:,} of {self.texts:,} {self.what} were cut to the {self.room} tokens that the model reads "
                "beside special ones "
                f"(the first is {self.what}[{self.first}], the longest has {self.longest:,} tokens). "
                f'{whole}overflow="truncate" silences this',
                stacklevel=caller_stacklevel(),
            )


def longest_words(
    unread: Mapping[int, Sequence[tuple[int, int]]], rows: Int[np.ndarray, " n"] | None = None
) -> dict[int, int]:
    """The characters of the longest of each text's unread words; of distinct texts, for each of the `rows` given."""
    longest = {i: max(length for _, length in words) for i, words in unread.items()}
    if rows is None or not longest:
        return longest
    return {i: longest[row] for i, row in enumerate(rows.tolist()) if row in longest}


def caller_stacklevel() -> int:
    """How many frames lie between a warning and the code that called this package."""
    level, frame, ours = 1, sys._getframe(1), ("likewise", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in ours:
        level, frame = level + 1, frame.f_back
    return level
