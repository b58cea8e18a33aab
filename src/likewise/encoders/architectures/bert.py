"""BERT and its variants (RoBERTa, XLM-RoBERTa, DistilBERT, ELECTRA, ALBERT, MPNet, DeBERTa, Jina's, Nomic's, GTE): one
post-norm transformer (Devlin et al. 2019).

The variants differ in the fields of `BertShape`: the first position, whether there are segments, the width of word
embeddings, whether blocks share weights, the kind of positions, and whether the feed-forward network is gated.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from ...array_types import Float
from ...arrays.ragged import Ragged
from ..attention import Bias, attend
from ..encoder import Transformer
from ..layers import ACTIVATION_FUNCTIONS, Dropout, Embedding, LayerNorm, Linear, gated_activation
from ..positions import Distances, RelativeBias, Rotation, alibi, rotate, rotation
from ..shapes import BertShape


class Embeddings(nn.Module):
    """Word + position + segment embeddings, normalized; by default, all tokens are in segment 0."""

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        width = shape.word_width or shape.width
        self.words = Embedding(shape.vocabulary, width)
        self.positions = Embedding(shape.positions, width) if shape.has_table else None
        self.segments = Embedding(shape.segments, width) if shape.segments else None
        self.norm = LayerNorm(width, shape.eps)
        self.widen = Linear(width, shape.width) if shape.word_width else None
        self.drop = Dropout(shape.dropout)
        self.first_position = shape.first_position

    def forward(self, tokens: Ragged) -> Float[Tensor, "T D"]:
        x = self.words(tokens.values)
        if self.positions is not None:
            x = x + self.positions(tokens.position + self.first_position)
        if self.segments is not None:
            x = x + (self.segments.weight[0] if tokens.segments is None else self.segments(tokens.segments))
        x = self.drop(self.norm(x))
        wide: Tensor = x if self.widen is None else self.widen(x)
        return wide


class Block(nn.Module):
    """Attention, then a two-layer feed-forward network, each followed by a residual addition and a norm."""

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.heads, self.gated = shape.heads, shape.gated
        self.qkv = Linear(shape.width, 3 * shape.width, bias=shape.attention_bias)
        self.out = Linear(shape.width, shape.width, bias=shape.attention_bias)
        self.norm1 = LayerNorm(shape.width, shape.eps)
        self.up = Linear(shape.width, (2 if shape.gated else 1) * shape.inner, bias=shape.up_bias)
        self.down = Linear(shape.inner, shape.width, bias=shape.down_bias)
        self.norm2 = LayerNorm(shape.width, shape.eps)
        self.activation = ACTIVATION_FUNCTIONS[shape.activation]
        self.drop = Dropout(shape.dropout)
        self.attention_dropout = shape.attention_dropout

    def forward(
        self,
        x: Float[Tensor, "T D"],
        tokens: Ragged,
        bias: Bias | None,
        rotation: Rotation | None = None,
        distances: Distances | None = None,
    ) -> Float[Tensor, "T D"]:
        q, k, v = self.qkv(x).view(len(x), 3, self.heads, -1).unbind(1)
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        if distances is not None:  # a score is the sum of three terms
            q, bias = q / 3**0.5, distances.bias(self.qkv, self.heads, 3**0.5)
        dropout = self.attention_dropout if self.training else 0.0
        looked = attend(q, k, v, tokens, bias=bias, dropout=dropout).reshape(x.shape)
        x = self.norm1(x + self.drop(self.out(looked)))
        wide: Tensor = self.down(gated_activation(self.up(x), self.activation, self.gated))
        out: Tensor = self.norm2(x + self.drop(wide))
        return out


class Bert(Transformer):
    """Maps tokens to layers: the embedding output, then the output of each block, computed lazily."""

    def __init__(self, shape: BertShape) -> None:
        super().__init__(shape)
        self.shape = shape
        self.embeddings = Embeddings(shape)
        self.relative = RelativeBias(shape.buckets, shape.heads) if shape.buckets else None
        self.distances = Distances(shape) if shape.distances else None
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.groups or shape.depth))

    def block(self, i: int) -> nn.Module:
        """The block at depth i; in ALBERT, all depths in a group use the same block."""
        return self.blocks[i * len(self.blocks) // self.depth]

    def states(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        x = self.embeddings(tokens)
        bias, rotation = self._bias(x.device), self._rotation(tokens, x.dtype)
        yield x
        for i in range(self.depth):
            x = self.through(self.block(i), x, tokens, bias, rotation, self.distances)
            yield x

    def _rotation(self, tokens: Ragged, dtype: torch.dtype) -> Rotation | None:
        theta, width = self.shape.theta, self.width // self.shape.heads
        return rotation(tokens, theta, width, dtype, self.shape.stretch) if theta else None

    def _bias(self, device: torch.device) -> Bias | None:
        """The relative bias, cached for all blocks; with checkpointing, each block recomputes it identically."""
        if self.shape.alibi:
            return alibi(self.shape.heads, device)
        if self.relative is None or (self.recomputes and torch.is_grad_enabled()):
            return self.relative
        return self.relative.cached()
