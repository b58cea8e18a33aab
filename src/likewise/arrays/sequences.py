"""Sequences of token ids, end to end in one array: what a tokenizer returns, and what an encoder reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from ..array_types import Bool, Int


@dataclass(frozen=True, eq=False)
class Sequences:
    """The ids of several sequences, one after another, and the length of each.

    >>> [ids.tolist() for ids in Sequences.of([[5, 6], [], [7]])]
    [[5, 6], [], [7]]
    """

    ids: Int[np.ndarray, " T"]
    lengths: Int[np.ndarray, " N"]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Sequences":
        return cls(np.fromiter(chain.from_iterable(rows), np.int32), np.fromiter(map(len, rows), np.int64, len(rows)))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, i: int) -> Int[np.ndarray, " t"]:
        stop = self.ends[i]
        return self.ids[stop - self.lengths[i] : stop]

    @cached_property
    def ends(self) -> Int[np.ndarray, " N"]:
        return np.cumsum(self.lengths)

    @cached_property
    def positions(self) -> Int[np.ndarray, " T"]:
        """The position of each id in its sequence, from 0."""
        return np.asarray(np.arange(len(self.ids)) - np.repeat(self.ends - self.lengths, self.lengths))

    def take(self, rows: Int[np.ndarray, " n"]) -> "Sequences":
        lengths = self.lengths[rows]
        shifts = self.ends[rows] - np.cumsum(lengths)
        return Sequences(self.ids[np.repeat(shifts, lengths) + np.arange(lengths.sum())], lengths)

    def where(self, kept: Bool[np.ndarray, " T"]) -> "Sequences":
        """The sequences without the ids for which `kept` is false."""
        counts = np.concatenate([[0], np.cumsum(kept)])
        return Sequences(self.ids[kept], np.diff(counts[self.ends], prepend=0))

    def first(self, most: int) -> "Sequences":
        if not (self.lengths > most).any():
            return self
        return self.where(self.positions < most)

    def between(self, prefix: Sequence[int], suffix: Sequence[int]) -> "Sequences":
        """Each sequence with these ids added before and after it."""
        if not prefix and not suffix:
            return self
        lengths = self.lengths + (len(prefix) + len(suffix))
        ends = np.cumsum(lengths)
        ids, inside = np.empty(lengths.sum(), np.int32), np.ones(lengths.sum(), bool)
        for around, starts in ((prefix, ends - lengths), (suffix, ends - len(suffix))):
            for i, one in enumerate(around):
                ids[starts + i], inside[starts + i] = one, False
        ids[inside] = self.ids
        return Sequences(ids, lengths)

    def lists(self) -> list[list[int]]:
        ids, start, rows = self.ids.tolist(), 0, []
        for end in self.ends.tolist():
            rows.append(ids[start:end])
            start = end
        return rows
