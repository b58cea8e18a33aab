"""InferSent's encoder: a bidirectional LSTM over word vectors, whose maximum over time is the sentence.

Conneau et al. 2017, Supervised Learning of Universal Sentence Representations from Natural Language Inference Data:
2,048 units a direction over GloVe vectors, max pooling. Both directions of all sentences run together, packed.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from ...arrays.ragged import Ragged
from ..encoder import Encoder
from .word_table import UNBOUNDED, WordShape, WordTable


class LSTM(nn.LSTM):
    """torch's own, its weights left as they come (see layers.py)."""

    def reset_parameters(self) -> None:
        """Nothing."""


class TimeMajor(NamedTuple):
    """All sentences' first words, then their second ones …, longest sentence first: what an LSTM walks through."""

    order: Int[Tensor, " T"]  # which token stands at each place
    sizes: Int[Tensor, " steps"]  # sentences that have a word at each step; on the CPU, as torch wants it

    @classmethod
    def of(cls, tokens: Ragged) -> "TimeMajor":
        rank = torch.argsort(torch.argsort(tokens.counts, descending=True, stable=True))
        order = torch.argsort(tokens.position * len(tokens) + rank[tokens.sentence])
        return cls(order, torch.bincount(tokens.position).cpu())


class BiLSTM(Encoder):
    """Tokens to one layer: what the LSTM has read up to each word, from the left, and from the right.

    There is no layer before it, since word vectors have another width.
    """

    depth = 0
    longest = UNBOUNDED

    def __init__(self, shape: WordShape, width: int) -> None:
        super().__init__()
        self.shape, self.width = shape, width
        self.words = WordTable(shape)
        self.vocabulary = self.words.vocabulary
        self.lstm = LSTM(shape.width, width // 2, bidirectional=True)

    def units(self, tokens: Ragged) -> Ragged:
        return self.words.units(tokens)

    def forward(self, tokens: Ragged) -> Iterator[Float[Tensor, "W D"]]:
        (x,) = self.words(tokens)
        time = TimeMajor.of(self.units(tokens))
        read = self.lstm(PackedSequence(x[time.order], time.sizes))[0].data
        yield torch.empty_like(read).index_copy(0, time.order, read)
