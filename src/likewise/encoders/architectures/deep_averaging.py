"""The input layer of a deep averaging network: embeddings of words and bigrams, whose sum the heads read.

Iyyer et al. 2015; Cer et al. 2018, Universal Sentence Encoder, which averages words and bigrams together and passes the
result through a feed-forward network. Pooling is `mean-sqrt-len`, and the network consists of `Dense` heads
(`papers.baselines`), so this encoder is just two embedding tables. The ids of the two words of a bigram are hashed to a
fixed number of rows.
"""

from collections.abc import Iterator

from torch import Tensor

from ...array_types import Float, Int
from ...arrays.ragged import Ragged
from ..encoder import UNBOUNDED, Encoder
from ..layers import Embedding
from ..shapes import DeepAveragingShape
from .word_table import WordTable

_MULTIPLIERS = (0x9E3779B1, 0x85EBCA77)  # odd, with irregular bits, as in xxHash; both products fit in 63 bits


class DeepAveraging(Encoder):
    """Maps tokens to one layer: each word's embedding plus that of the bigram it forms with the next word.

    Summing over words therefore sums over words and bigrams.
    """

    depth = 0
    longest = UNBOUNDED

    def __init__(self, shape: DeepAveragingShape) -> None:
        super().__init__()
        self.shape, self.width = shape, shape.words.width
        self.words = WordTable(shape.words)
        self.vocabulary = self.words.vocabulary
        self.pairs = Embedding(shape.pairs, shape.words.width)

    def units(self, tokens: Ragged) -> Ragged:
        return self.words.units(tokens)

    def forward(self, tokens: Ragged) -> Iterator[Float[Tensor, "W D"]]:
        (x,) = self.words(tokens)
        units = self.units(tokens)
        left = (units.position < units.counts[units.sentence] - 1).nonzero().squeeze(1)
        found = pair_buckets(units.values[left], units.values[left + 1], self.pairs.num_embeddings)
        yield x.index_add(0, left, self.pairs(found))


def pair_buckets(left: Int[Tensor, " P"], right: Int[Tensor, " P"], buckets: int) -> Int[Tensor, " P"]:
    """The bucket of each ordered pair of ids."""
    mixed = (left * _MULTIPLIERS[0]) ^ ((right + 1) * _MULTIPLIERS[1])
    return (mixed ^ (mixed >> 29)) % buckets
