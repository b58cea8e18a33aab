"""A table of word vectors: one layer, and nothing that looks around.

Averaged, it is the baseline of the papers (avg. GloVe); beneath `bilstm.py` and `dan.py` it is where they begin.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ...arrays.ragged import Ragged
from ..encoder import Encoder
from ..layers import Embedding

UNBOUNDED = 1 << 20
"""Tokens that one text may have, since no position is counted."""


@dataclass(frozen=True)
class WordShape:
    """The sizes of a table: `vocabulary` words, the unknown one first, and below them `buckets` n-grams (fastText)."""

    vocabulary: int
    width: int
    buckets: int = 0

    @property
    def rows(self) -> int:
        return self.vocabulary + self.buckets


class WordTable(Encoder):
    """Tokens to one layer: each word's row, or the mean of the rows of its n-grams.

    An id below `shape.rows` is a row, and a word begins with it; one above, less the buckets, is the row of an n-gram
    that goes on with the word before it (`likewise.text.unknown_words`). The unknown word's row is not learned, and an
    n-gram's is the mean of no other.
    """

    depth = 0
    longest = UNBOUNDED

    def __init__(self, shape: WordShape) -> None:
        super().__init__()
        self.shape, self.width = shape, shape.width
        self.vocabulary = shape.rows + shape.buckets
        self.table = Embedding(shape.rows, shape.width, padding_idx=0)

    def units(self, tokens: Ragged) -> Ragged:
        """The words, each with the first of its ids."""
        if not self.shape.buckets:
            return tokens
        begins = self._begins(tokens)
        counts = torch.zeros_like(tokens.counts).index_add(0, tokens.sentence, begins.long())
        return Ragged(tokens.values[begins], tuple(counts.tolist()))

    def forward(self, tokens: Ragged) -> Iterator[Float[Tensor, "W D"]]:
        if not self.shape.buckets:
            yield self.table(tokens.values)
            return
        rows = torch.where(tokens.values < self.shape.rows, tokens.values, tokens.values - self.shape.buckets)
        starts = self._begins(tokens).nonzero().squeeze(1)
        yield F.embedding_bag(rows, self.table.weight, starts, mode="mean", padding_idx=0)

    def _begins(self, tokens: Ragged) -> Tensor:
        """Which tokens begin a word; the first of a text does, wherever it was cut."""
        return (tokens.values < self.shape.rows) | (tokens.position == 0)
