"""Ragged: sentences laid end to end, and how long each is. There is no other layout, and no padding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Int, Shaped
from torch import Tensor


class Run(NamedTuple):
    """Neighbouring sentences of one length: rows `start : start + sentences * length` of the values."""

    start: int
    sentences: int
    length: int

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + self.sentences * self.length)

    def parts(self, size: int) -> Iterator["Run"]:
        """The same in runs of `size` sentences, and one of what is left over."""
        for done in range(0, self.sentences, size):
            yield Run(self.start + done * self.length, min(size, self.sentences - done), self.length)


@dataclass(frozen=True, eq=False)
class Ragged:
    """N sentences of T tokens in all: `values` (T, …) and the N `lengths`, in the same order.

    `segments` says of each token which of two texts read together it is of; None is the first throughout.
    """

    values: Shaped[Tensor, "T ..."]
    lengths: tuple[int, ...]
    segments: Int[Tensor, " T"] | None = None

    def __post_init__(self) -> None:
        if sum(self.lengths) != len(self.values) or min(self.lengths, default=0) < 0:
            raise ValueError(f"lengths add up to {sum(self.lengths)}, and there are {len(self.values)} values")
        if self.segments is not None and len(self.segments) != len(self.values):
            raise ValueError(f"there are {len(self.values)} values, and segments for {len(self.segments)}")

    @classmethod
    def of(
        cls,
        rows: Sequence[Sequence[int]],
        device: torch.device | str = "cpu",
        segments: Sequence[Sequence[int]] | None = None,
    ) -> "Ragged":
        """Lists of token ids, laid end to end, and of their segments."""

        def flat(lists: Sequence[Sequence[int]]) -> Tensor:
            return torch.tensor([i for row in lists for i in row], dtype=torch.int64, device=device)

        return cls(flat(rows), tuple(len(row) for row in rows), None if segments is None else flat(segments))

    def __len__(self) -> int:
        return len(self.lengths)

    def like(self, values: Shaped[Tensor, "T ..."]) -> "Ragged":
        """The same sentences with other values: ids become vectors."""
        return Ragged(values, self.lengths)

    def split(self) -> tuple[Shaped[Tensor, "t ..."], ...]:
        """One tensor a sentence."""
        return torch.split(self.values, list(self.lengths))

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Neighbours of equal length, so that they can be seen as one (sentences, length, …) block."""
        runs, start = [], 0
        for length, group in groupby(self.lengths):
            run = Run(start, len(list(group)), length)
            runs.append(run)
            start = run.rows.stop
        return tuple(runs)

    def rounded(self) -> "Ragged":
        """The same sentences, and behind them as many of one token 0 as make the number of tokens a rounder one.

        An eighth more at most, and never more than 31 tokens: up to 2,048 tokens, 104 numbers are left.
        """
        count = len(self.values)
        more = -count % min(32, 1 << max(0, count.bit_length() - 4))
        if not more:
            return self
        segments = None if self.segments is None else torch.cat([self.segments, self.segments.new_zeros(more)])
        return Ragged(torch.cat([self.values, self.values.new_zeros(more)]), (*self.lengths, *[1] * more), segments)

    @cached_property
    def offsets(self) -> Int[Tensor, " bounds"]:
        """Where each sentence begins, and at the end T; int32, as attention kernels want it."""
        return torch.tensor([0, *accumulate(self.lengths)], dtype=torch.int32, device=self.values.device)

    @cached_property
    def counts(self) -> Int[Tensor, " N"]:
        """The lengths as a tensor on the values' device."""
        return torch.tensor(self.lengths, dtype=torch.int64, device=self.values.device)

    @cached_property
    def sentence(self) -> Int[Tensor, " T"]:
        """Which sentence each token belongs to."""
        return torch.repeat_interleave(self.counts, output_size=len(self.values))

    @cached_property
    def position(self) -> Int[Tensor, " T"]:
        """Where in its sentence each token stands, from 0."""
        starts = (self.counts.cumsum(0) - self.counts).repeat_interleave(self.counts, output_size=len(self.values))
        return torch.arange(len(self.values), device=self.values.device) - starts

    def without_first(self, skip: Sequence[int]) -> tuple["Ragged", Int[Tensor, " kept"]]:
        """The sentences less their first `skip` tokens (at least the last one stays), and which rows were kept."""
        dropped = torch.tensor(
            [min(s, max(n - 1, 0)) for s, n in zip(skip, self.lengths, strict=True)], device=self.values.device
        )
        kept = (self.position >= dropped[self.sentence]).nonzero().squeeze(1)
        lengths = tuple(n - int(d) for n, d in zip(self.lengths, dropped.tolist(), strict=True))
        left = Ragged(self.values[kept], lengths)
        left.__dict__["position"] = self.position[kept]  # tokens keep the place that they have in their sentence
        return left, kept


Layers: TypeAlias = Iterator[Tensor]
"""Hidden states of one pack, (T, D) each: the embeddings first, then one a block, lazily."""
