"""InferSent's encoder: a bidirectional LSTM over word vectors; the sentence vector is its maximum over time.

Conneau et al. 2017, Supervised Learning of Universal Sentence Representations from Natural Language Inference Data:
2,048 units in each direction over GloVe vectors, max pooling. Both directions of all sentences run packed together.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from ...array_types import Float, Int
from ...arrays.ragged import Ragged
from ..encoder import UNBOUNDED, Encoder
from ..layers import Uninitialized
from ..shapes import BiLSTMShape
from .word_table import WordTable


class LSTM(Uninitialized, nn.LSTM):
    """torch's LSTM, without weight initialization (see layers.py)."""


class TimeMajor(NamedTuple):
    """Tokens in time-major order: the first words of all sentences (longest first), then the second words …"""

    order: Int[Tensor, " T"]  # the index of the token at each place in this order
    sizes: Int[Tensor, " steps"]  # the number of sentences with a word at each step; on the CPU, as torch requires

    @classmethod
    def of(cls, tokens: Ragged) -> "TimeMajor":
        rank = torch.argsort(torch.argsort(tokens.counts, descending=True, stable=True))
        order = torch.argsort(tokens.position * len(tokens) + rank[tokens.sentence])
        return cls(order, torch.bincount(tokens.position).cpu())


class BiLSTM(Encoder):
    """Maps tokens to one layer: the concatenated forward and backward hidden states of the LSTM at each word.

    The word embeddings are not yielded as a layer, because their width differs.
    """

    depth = 0
    longest = UNBOUNDED

    def __init__(self, shape: BiLSTMShape) -> None:
        super().__init__()
        self.shape, self.width = shape, shape.width
        self.words = WordTable(shape.words)
        self.vocabulary = self.words.vocabulary
        self.lstm = LSTM(shape.words.width, shape.width // 2, bidirectional=True)

    def units(self, tokens: Ragged) -> Ragged:
        return self.words.units(tokens)

    def forward(self, tokens: Ragged) -> Iterator[Float[Tensor, "W D"]]:
        (x,) = self.words(tokens)
        time = TimeMajor.of(self.units(tokens))
        read = self.lstm(PackedSequence(x[time.order], time.sizes))[0].data
        yield torch.empty_like(read).index_copy(0, time.order, read)
