"""MPNet's relative positions: a learned bias for each bucket of token distances (Song et al. 2020, as in T5)."""

import math
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..attention import Bias
from ..layers import Embedding

FAR = 128  # distances from here on share the last bucket


class RelativeBias(nn.Module):
    """Adds `table[bucket(j − i), head]` to the score of token i attending to token j; all blocks share the table."""

    def __init__(self, buckets: int, heads: int) -> None:
        super().__init__()
        self.table = Embedding(buckets, heads)

    def forward(self, length: int) -> Float[Tensor, "H t t"]:
        at = torch.arange(length, device=self.table.weight.device)
        bias: Tensor = self.table(bucket(at[None] - at[:, None], self.table.num_embeddings))
        return bias.permute(2, 0, 1).contiguous()

    def cached(self) -> Bias:
        """The same bias, cached by length for the blocks of one forward pass."""
        return cache(self.forward)


def bucket(offset: Int[Tensor, "t t"], buckets: int) -> Int[Tensor, "t t"]:
    """The bucket of each offset: half of them per direction, one for each near distance, logarithmic for far ones."""
    half = buckets // 2
    near = half // 2
    distance = offset.abs()
    scale = (half - near) / math.log(FAR / near)
    far = near + ((distance.clamp(min=1).float() / near).log() * scale).long()
    return (offset > 0).long() * half + torch.where(distance < near, distance, far.clamp(max=half - 1))
