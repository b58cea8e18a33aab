"""Ragged: concatenated sentences and their lengths, the only batch layout in the library; there is no padding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from ..array_types import Bool, Int, Shaped
from .sequences import Sequences


class EqualLengthRun(NamedTuple):
    """Adjacent sentences of equal length: rows `start : start + sentences * length` of the values."""

    start: int
    sentences: int
    length: int

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + self.sentences * self.length)

    def parts(self, size: int) -> Iterator["EqualLengthRun"]:
        """The same rows in parts of `size` sentences; the last part may be smaller."""
        for first in range(0, self.sentences, size):
            yield EqualLengthRun(self.start + first * self.length, min(size, self.sentences - first), self.length)


@dataclass(frozen=True, eq=False)
class Ragged:
    """N sentences with T tokens in total: `values` (T, …) and the N `lengths`, in the same order.

    `segments` is for two texts encoded as one: 0 for tokens of the first, 1 for tokens of the second; None means all 0.
    `first_positions` gives the position of each sentence's first token if earlier tokens were removed; None means all
    0.
    """

    values: Shaped[Tensor, "T ..."]
    lengths: tuple[int, ...]
    segments: Int[Tensor, " T"] | None = None
    first_positions: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if sum(self.lengths) != len(self.values) or min(self.lengths, default=0) < 0:
            expected = f"expected non-negative lengths that add up to {len(self.values)}, the number of values"
            raise ValueError(f"{expected}; got {self.lengths!s:.100}, which add up to {sum(self.lengths)}")
        if self.segments is not None and len(self.segments) != len(self.values):
            raise ValueError(f"there are {len(self.values)} values, but {len(self.segments)} segments")
        if self.first_positions is not None and len(self.first_positions) != len(self.lengths):
            firsts = len(self.first_positions)
            raise ValueError(f"there are {len(self.lengths)} sentences, but {firsts} first positions")

    @classmethod
    def of(
        cls,
        rows: Sequence[Sequence[int]],
        device: torch.device | str = "cpu",
        segments: Sequence[Sequence[int]] | None = None,
    ) -> "Ragged":
        """Concatenate lists of token ids and, if given, the lists of their segments."""

        def flat(lists: Sequence[Sequence[int]]) -> Tensor:
            return torch.tensor([i for row in lists for i in row], dtype=torch.int64, device=device)

        return cls(flat(rows), tuple(len(row) for row in rows), None if segments is None else flat(segments))

    @classmethod
    def packed(cls, tokens: Sequences, device: torch.device | str = "cpu") -> "Ragged":
        """The same sequences as tensors."""
        return cls(torch.from_numpy(tokens.ids).to(device, torch.int64), tuple(tokens.lengths.tolist()))

    def __len__(self) -> int:
        return len(self.lengths)

    def split(self) -> tuple[Shaped[Tensor, "t ..."], ...]:
        return torch.split(self.values, list(self.lengths))

    @cached_property
    def runs(self) -> tuple[EqualLengthRun, ...]:
        """Runs of adjacent sentences of equal length; each run can be viewed as one (sentences, length, …) block."""
        runs, start = [], 0
        for length, group in groupby(self.lengths):
            run = EqualLengthRun(start, len(list(group)), length)
            runs.append(run)
            start = run.rows.stop
        return tuple(runs)

    def rounded(self) -> "Ragged":
        """The same sentences, followed by one-token sentences (token 0) that round up the total number of tokens.

        At most an eighth of the tokens, and never more than 31, are added, so up to 2,048 tokens, only 104 different
        totals occur.
        """
        count = len(self.values)
        added = -count % min(32, 1 << max(0, count.bit_length() - 4))
        if not added:
            return self
        values, segments, first = self.values, self.segments, self.first_positions
        return Ragged(
            torch.cat([values, values.new_zeros(added)]),
            (*self.lengths, *[1] * added),
            None if segments is None else torch.cat([segments, segments.new_zeros(added)]),
            None if first is None else (*first, *[0] * added),
        )

    @cached_property
    def offsets(self) -> Int[Tensor, " bounds"]:
        """The row at which each sentence begins, with T at the end; int32, as attention kernels require."""
        return torch.tensor([0, *accumulate(self.lengths)], dtype=torch.int32, device=self.values.device)

    @cached_property
    def counts(self) -> Int[Tensor, " N"]:
        return torch.tensor(self.lengths, dtype=torch.int64, device=self.values.device)

    @cached_property
    def sentence(self) -> Int[Tensor, " T"]:
        """The index of the sentence that each token belongs to."""
        return torch.repeat_interleave(self.counts, output_size=len(self.values))

    @cached_property
    def position(self) -> Int[Tensor, " T"]:
        """The position of each token within its sentence, counted from 0."""
        starts = self.counts.cumsum(0) - self.counts
        if self.first_positions is not None:
            starts = starts - torch.tensor(self.first_positions, device=starts.device)
        at = torch.arange(len(self.values), device=self.values.device)
        return at - starts.repeat_interleave(self.counts, output_size=len(self.values))

    @cached_property
    def is_last(self) -> Bool[Tensor, " T"]:
        at = torch.arange(len(self.values), device=self.values.device)
        return at + 1 == self.offsets[1:][self.sentence]

    def without_first(self, skip: Sequence[int]) -> tuple["Ragged", Int[Tensor, " kept"]]:
        """The sentences without their first `skip` tokens, and the indices of the remaining rows.

        Each sentence keeps at least its last token, and the tokens keep their positions.
        """
        removed = tuple(min(s, max(n - 1, 0)) for s, n in zip(skip, self.lengths, strict=True))
        first = tuple(a + b for a, b in zip(self.first_positions or (0,) * len(self), removed, strict=True))
        begins = torch.tensor(first, dtype=torch.int64, device=self.values.device)
        kept = (self.position >= begins[self.sentence]).nonzero().squeeze(1)
        lengths = tuple(n - r for n, r in zip(self.lengths, removed, strict=True))
        return Ragged(self.values[kept], lengths, first_positions=first), kept


Layers: TypeAlias = Iterator[Tensor]
"""Hidden states for one pack, each (T, D): the embeddings first, then the output of each block, computed lazily."""
