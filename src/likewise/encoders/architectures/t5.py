"""The encoder of T5 (Raffel et al. 2020): RMSNorm, relative positions, unscaled attention scores."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from ...array_types import Float
from ...arrays.ragged import Ragged
from ..attention import Bias, attend
from ..encoder import Transformer
from ..layers import ACTIVATION_FUNCTIONS, Dropout, Embedding, Linear, RMSNorm, gated_activation
from ..positions import RelativeBias
from ..shapes import T5Shape


class T5Block(nn.Module):
    """x + attention(norm x), then x + network(norm x)."""

    def __init__(self, shape: T5Shape) -> None:
        super().__init__()
        self.heads, self.gated = shape.heads, shape.gated
        self.norm1 = RMSNorm(shape.width, shape.eps)
        self.qkv = Linear(shape.width, 3 * shape.width, bias=False)
        self.out = Linear(shape.width, shape.width, bias=False)
        self.norm2 = RMSNorm(shape.width, shape.eps)
        self.up = Linear(shape.width, (2 if shape.gated else 1) * shape.inner, bias=False)
        self.down = Linear(shape.inner, shape.width, bias=False)
        self.activation = ACTIVATION_FUNCTIONS[shape.activation]
        self.drop = Dropout(shape.dropout)
        self.attention_dropout = shape.dropout

    def forward(self, x: Float[Tensor, "T D"], tokens: Ragged, bias: Bias) -> Float[Tensor, "T D"]:
        q, k, v = self.qkv(self.norm1(x)).view(len(x), 3, self.heads, -1).unbind(1)
        dropout = self.attention_dropout if self.training else 0.0
        undivided = q * q.shape[-1] ** 0.5  # cancels the scaling of scores in `attend`
        looked = attend(undivided, k, v, tokens, bias=bias, dropout=dropout)
        x = x + self.drop(self.out(looked.reshape(x.shape)))
        inner = gated_activation(self.up(self.norm2(x)), self.activation, self.gated)
        out: Tensor = x + self.drop(self.down(self.drop(inner)))
        return out


class T5(Transformer):
    """Maps tokens to layers; the last layer is normalized."""

    nested = False

    def __init__(self, shape: T5Shape) -> None:
        super().__init__(shape)
        self.shape = shape
        self.words = Embedding(shape.vocabulary, shape.width)
        self.drop = Dropout(shape.dropout)
        self.relative = RelativeBias(shape.buckets, shape.heads)
        self.blocks = nn.ModuleList(T5Block(shape) for _ in range(shape.depth))
        self.last_norm = RMSNorm(shape.width, shape.eps)

    def states(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        x = self.drop(self.words(tokens.values))
        bias = self.relative if self.recomputes and torch.is_grad_enabled() else self.relative.cached()
        yield x
        for i, block in enumerate(self.blocks):
            x = self.through(block, x, tokens, bias)
            yield self.drop(self.last_norm(x)) if i == self.depth - 1 else x
