"""Qwen3 (Yang et al. 2025) and Gemma 3 (2025): pre-norm, gated, rotary, with grouped-query attention.

Grouped-query attention is by Ainslie et al. 2023. The two models differ in the fields of `GroupedShape`: whether
attention is causal, which blocks have local attention, and whether norms also follow attention and feed-forward.
"""

from collections.abc import Iterator

from torch import Tensor, nn

from ...array_types import Float
from ...arrays.ragged import Ragged
from ..attention import Bias, attend
from ..encoder import Transformer
from ..layers import ACTIVATION_FUNCTIONS, Embedding, Linear, RMSNorm, gated_activation
from ..positions import Rotation, causal, rotate, rotation
from ..shapes import GroupedShape


class GroupedBlock(nn.Module):
    """x + attention(norm x), then x + gated(norm x)."""

    def __init__(self, shape: GroupedShape, i: int) -> None:
        super().__init__()
        self.shape, width, heads = shape, shape.width, shape.heads * shape.head_width
        keys, bias, one_more = shape.key_heads * shape.head_width, shape.attention_bias, shape.one_more
        self.norm1 = RMSNorm(width, shape.eps, one_more)
        self.q, self.k, self.v = (Linear(width, wide, bias=bias) for wide in (heads, keys, keys))
        self.query_norm, self.key_norm = (RMSNorm(shape.head_width, shape.eps, one_more) for _ in range(2))
        self.out = Linear(heads, width, bias=bias)
        self.out_norm = RMSNorm(width, shape.eps, one_more) if shape.post_norms else nn.Identity()
        self.norm2 = RMSNorm(width, shape.eps, one_more)
        self.up = Linear(width, 2 * shape.inner, bias=False)
        self.down = Linear(shape.inner, width, bias=False)
        self.down_norm = RMSNorm(width, shape.eps, one_more) if shape.post_norms else nn.Identity()
        self.activation = ACTIVATION_FUNCTIONS[shape.activation]
        self.attention_dropout = shape.attention_dropout
        self.window = None if shape.reaches[i] < 0 else shape.reaches[i]

    def forward(
        self, x: Float[Tensor, "T D"], tokens: Ragged, rotation: Rotation, bias: Bias | None
    ) -> Float[Tensor, "T D"]:
        x = x + self.out_norm(self.out(self._attended(self.norm1(x), tokens, rotation, bias)))
        inner = gated_activation(self.up(self.norm2(x)), self.activation, 1)
        out: Tensor = x + self.down_norm(self.down(inner))
        return out

    def _attended(self, x: Tensor, tokens: Ragged, rotation: Rotation, bias: Bias | None) -> Tensor:
        shape = self.shape
        q, k, v = (part(x).view(len(x), -1, shape.head_width) for part in (self.q, self.k, self.v))
        q, k = rotate(self.query_norm(q), rotation), rotate(self.key_norm(k), rotation)
        if shape.divisor:  # replaces the scaling of scores in `attend`
            q = q * (shape.head_width**0.5 / shape.divisor)
        k, v = (part.repeat_interleave(shape.heads // shape.key_heads, dim=1) for part in (k, v))
        dropout = self.attention_dropout if self.training else 0.0
        return attend(q, k, v, tokens, bias=bias, window=self.window, dropout=dropout).flatten(1)


class Grouped(Transformer):
    """Maps tokens to layers; the last layer is normalized."""

    nested = False

    def __init__(self, shape: GroupedShape) -> None:
        super().__init__(shape)
        self.shape = shape
        self.words = Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(GroupedBlock(shape, i) for i in range(shape.depth))
        self.last_norm = RMSNorm(shape.width, shape.eps, shape.one_more)

    def states(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        x = self.words(tokens.values) * self.shape.word_scale
        bias = causal(x.device) if self.shape.causal else None
        yield x
        thetas, width = self.shape.thetas, self.shape.head_width
        rotations = {theta: rotation(tokens, theta, width, x.dtype) for theta in set(thetas)}
        for i, (block, theta) in enumerate(zip(self.blocks, thetas, strict=True)):
            x = self.through(block, x, tokens, rotations[theta], bias)
            yield self.last_norm(x) if i == self.depth - 1 else x
