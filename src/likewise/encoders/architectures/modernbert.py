"""ModernBERT (Warner et al. 2024): pre-norm, rotary, gated, with local attention in most blocks."""

from collections.abc import Iterator

from torch import Tensor, nn

from ...array_types import Float
from ...arrays.ragged import Ragged
from ..attention import attend
from ..encoder import Transformer
from ..layers import ACTIVATION_FUNCTIONS, Dropout, Embedding, LayerNorm, Linear, gated_activation
from ..positions import Rotation, rotate, rotation
from ..shapes import ModernBertShape


class ModernBlock(nn.Module):
    """x + attention(norm x), then x + gated(norm x)."""

    def __init__(self, shape: ModernBertShape, i: int) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm1 = LayerNorm(shape.width, shape.eps, shape.norm_bias) if i else nn.Identity()
        self.qkv = Linear(shape.width, 3 * shape.width, bias=shape.attention_bias)
        self.out = Linear(shape.width, shape.width, bias=shape.attention_bias)
        self.norm2 = LayerNorm(shape.width, shape.eps, shape.norm_bias)
        self.up = Linear(shape.width, 2 * shape.inner, bias=shape.inner_bias)
        self.down = Linear(shape.inner, shape.width, bias=shape.inner_bias)
        self.activation = ACTIVATION_FUNCTIONS[shape.activation]
        self.drop = Dropout(shape.dropout)
        self.attention_dropout = shape.attention_dropout
        self.window = shape.reach if shape.local[i] else None

    def forward(self, x: Float[Tensor, "T D"], tokens: Ragged, rotation: Rotation) -> Float[Tensor, "T D"]:
        q, k, v = self.qkv(self.norm1(x)).view(len(x), 3, self.heads, -1).unbind(1)
        dropout = self.attention_dropout if self.training else 0.0
        looked = attend(rotate(q, rotation), rotate(k, rotation), v, tokens, window=self.window, dropout=dropout)
        x = x + self.drop(self.out(looked.reshape(x.shape)))
        inner = gated_activation(self.up(self.norm2(x)), self.activation, 1)
        wide: Tensor = self.down(self.drop(inner))
        return x + wide


class ModernBert(Transformer):
    """Maps tokens to layers; the last layer is normalized, as pooling for this model expects."""

    nested = False

    def __init__(self, shape: ModernBertShape) -> None:
        super().__init__(shape)
        self.shape = shape
        self.words = Embedding(shape.vocabulary, shape.width)
        self.norm = LayerNorm(shape.width, shape.eps, shape.norm_bias)
        self.drop = Dropout(shape.dropout)
        self.blocks = nn.ModuleList(ModernBlock(shape, i) for i in range(shape.depth))
        self.last_norm = LayerNorm(shape.width, shape.eps, shape.norm_bias)

    def states(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        x = self.drop(self.norm(self.words(tokens.values)))
        yield x
        head_width = self.width // self.shape.heads
        rotations = {theta: rotation(tokens, theta, head_width, x.dtype) for theta in set(self.shape.thetas)}
        for i, (block, theta) in enumerate(zip(self.blocks, self.shape.thetas, strict=True)):
            x = self.through(block, x, tokens, rotations[theta])
            yield self.last_norm(x) if i == self.depth - 1 else x
