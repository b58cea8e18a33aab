"""A word embedding table: an encoder with one layer, in which a word's vector does not depend on its context.

Averaging word vectors is a common baseline (avg. GloVe); `bilstm.py` and `deep_averaging.py` also start from them.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from ...array_types import Float
from ...arrays.ragged import Ragged
from ..encoder import UNBOUNDED, Encoder
from ..layers import Embedding
from ..shapes import WordShape


class WordTable(Encoder):
    """Maps tokens to one layer: each word's row, or the mean of the rows of its character n-grams.

    An id below `shape.rows` is the first row of a word. A higher id, minus the number of buckets, is the row of another
    n-gram of the same word (`likewise.text.unknown_words`). The row of the unknown word is not trained and is excluded
    from means.
    """

    depth = 0
    longest = UNBOUNDED

    def __init__(self, shape: WordShape) -> None:
        super().__init__()
        self.shape, self.width = shape, shape.width
        self.vocabulary = shape.rows + shape.buckets
        self.table = Embedding(shape.rows, shape.width, padding_idx=shape.unknown)

    def units(self, tokens: Ragged) -> Ragged:
        """The words, each represented by its first id."""
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
        yield F.embedding_bag(rows, self.table.weight, starts, mode="mean", padding_idx=self.shape.unknown)

    def _begins(self, tokens: Ragged) -> Tensor:
        """Whether each token starts a word; the first token of a text always does, even after truncation."""
        return (tokens.values < self.shape.rows) | (tokens.position == 0)
