"""What of a text the model reads, and what it loses: nothing is cut without a word."""

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Int

from ..errors import BadInput, TooLong

Overflow = Literal["error", "warn", "truncate", "mean"]


@dataclass(frozen=True)
class Report:
    """What the model reads of each text, in tokens without the special ones."""

    tokens: Int[np.ndarray, " N"]
    used: Int[np.ndarray, " N"]

    @property
    def lost(self) -> Int[np.ndarray, " N"]:
        """Tokens beyond what the model reads."""
        return np.asarray(self.tokens - self.used)

    @property
    def cut(self) -> Int[np.ndarray, " C"]:
        """Indices of the texts that lose something."""
        return np.flatnonzero(self.lost)


@dataclass
class Tally:
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

    def __post_init__(self) -> None:
        ways = [way for way in get_args(Overflow) if way != "mean" or self.windows]
        if self.overflow not in ways:
            raise BadInput(f"there is no overflow={self.overflow!r} here; there are {', '.join(ways)}")

    def add(self, lengths: Sequence[int] | Int[np.ndarray, " n"]) -> None:
        """Counts texts of these many tokens; under "error" the first that is too long raises."""
        counted = np.asarray(lengths, dtype=np.int64)
        over = np.flatnonzero(counted > self.room)
        if len(over):
            index = self.texts + int(over[0])
            if self.overflow == "error":
                ways = '"mean" (all of it, in windows), "warn"' if self.windows else '"warn"'
                raise TooLong(
                    f"{self.what}[{index}] has {int(counted[over[0]]):,} tokens and the model reads {self.room:,}. "
                    f'To go on, choose overflow={ways} or "truncate" (its beginning)'
                )
            self.cut += len(over)
            self.first = index if self.first is None else self.first
            self.longest = max(self.longest, int(counted.max()))
        nothing = np.flatnonzero(counted == 0) if self.skips else counted[:0]
        if len(nothing):
            self.empty += len(nothing)
            self.first_empty = self.texts + int(nothing[0]) if self.first_empty is None else self.first_empty
        self.texts += len(counted)

    def warn(self) -> None:
        """Says what was cut, under "warn", and which texts hold no word that the model knows."""
        if self.empty:
            warnings.warn(
                f"{self.empty:,} of {self.texts:,} texts hold no word that this model knows (the first is "
                f"texts[{self.first_empty}]); each stands for the unknown word, whose vector is zero",
                stacklevel=to_the_caller(),
            )
        if self.cut and self.overflow == "warn":
            whole = 'overflow="mean" reads all of them, ' if self.windows else ""
            warnings.warn(
                f"{self.cut:,} of {self.texts:,} {self.what} were cut to the {self.room} tokens that the model reads "
                "beside special ones "
                f"(the first is {self.what}[{self.first}], the longest has {self.longest:,} tokens). "
                f'{whole}overflow="truncate" silences this',
                stacklevel=to_the_caller(),
            )


def to_the_caller() -> int:
    """How many frames lie between a warning and the code that called this package."""
    level, frame, ours = 1, sys._getframe(1), ("likewise", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in ours:
        level, frame = level + 1, frame.f_back
    return level
