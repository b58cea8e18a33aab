"""Rotary position embeddings (Su et al. 2021, in halves rather than adjacent pairs), and biases on attention scores:
relative positions (T5, MPNet), ALiBi, disentangled attention (DeBERTa) and causal masks.
"""

import math
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..array_types import Float, Int
from ..arrays.ragged import Ragged
from .attention import Bias
from .layers import Dropout, Embedding, LayerNorm, Linear
from .shapes import BertShape, alibi_slopes

FAR = 128  # distances of at least this many tokens share the last relative position bucket

Rotation = tuple[Float[Tensor, "T 1 K"], Float[Tensor, "T 1 K"]]


def rotation(tokens: Ragged, theta: float, width: int, dtype: torch.dtype, stretch: float = 1.0) -> Rotation:
    """The cosines and sines of each token's rotary angles, which are divided by `stretch`."""
    speeds = theta ** -(torch.arange(0, width, 2, device=tokens.values.device, dtype=torch.float32) / width) / stretch
    angles = (tokens.position[:, None].float() * speeds).repeat(1, 2)[:, None]
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x: Float[Tensor, "T H K"], rotation: Rotation) -> Float[Tensor, "T H K"]:
    """Rotate each pair (x_i, x_{i+K/2}) by the token's angle for that pair."""
    cos, sin = rotation
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


class RelativeBias(nn.Module):
    """The relative position bias of T5 (Raffel et al. 2020) and MPNet, shared by all blocks.

    `table[bucket(j − i), head]` is added to the score of token i attending to token j.
    """

    def __init__(self, buckets: int, heads: int) -> None:
        super().__init__()
        self.table = Embedding(buckets, heads)

    def forward(self, q: Float[Tensor, "n H t K"], k: Float[Tensor, "n H t K"]) -> Float[Tensor, "H t t"]:  # noqa: ARG002
        at = torch.arange(q.shape[2], device=self.table.weight.device)
        bias: Tensor = self.table(bucket(at[None] - at[:, None], self.table.num_embeddings))
        return bias.permute(2, 0, 1).contiguous()

    def cached(self) -> Bias:
        """The same bias, cached by length for the blocks of one forward pass."""
        by_length: dict[int, Tensor] = {}

        def bias(q: Tensor, k: Tensor) -> Tensor:
            if q.shape[2] not in by_length:
                by_length[q.shape[2]] = self(q, k)
            return by_length[q.shape[2]]

        return bias


def alibi(heads: int, device: torch.device) -> Bias:
    """ALiBi (Press et al. 2022): a penalty on distance, here in both directions, cached by length."""
    slopes = torch.tensor(alibi_slopes(heads), device=device)

    @cache
    def penalty(length: int) -> Float[Tensor, "H t t"]:
        at = torch.arange(length, device=device)
        return -slopes[:, None, None] * (at[None] - at[:, None]).abs()

    return lambda q, _: penalty(q.shape[2])


def causal(device: torch.device) -> Bias:
    """The causal mask, which hides later tokens from each token, cached by length."""

    @cache
    def hidden(length: int) -> Float[Tensor, "t t"]:
        return torch.full((length, length), -torch.inf, device=device).triu(1)

    return lambda q, _: hidden(q.shape[2])


class Distances(nn.Module):
    """DeBERTa's relative position embeddings, shared by all blocks (He et al. 2021, equation 4)."""

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.buckets, self.farthest = shape.distances, shape.farthest
        self.table = Embedding(2 * shape.distances, shape.width)
        self.norm = LayerNorm(shape.width, shape.eps)
        self.drop = Dropout(shape.dropout)

    def bias(self, qkv: Linear, heads: int, root: float) -> Bias:
        """The bias added to the score of i attending to j: (qᵢ · key of (i − j) + kⱼ · query of (i − j)) / √K.

        `qkv` computes the queries and keys of distances in the same way as those of tokens; the queries of both are
        divided by `root`.
        """
        rows = self.drop(self.norm(self.table.weight))
        wanted = 2 * rows.shape[1]  # queries and keys, without values
        both = F.linear(rows, qkv.weight[:wanted], qkv.bias[:wanted]).view(len(rows), 2, heads, -1)
        queries, keys = both.permute(1, 2, 3, 0)  # each H K R
        queries = queries / root

        def bias(q: Float[Tensor, "n H t K"], k: Float[Tensor, "n H t K"]) -> Float[Tensor, "n H t t"]:
            at = torch.arange(q.shape[2], device=q.device)
            row = self._row(at[:, None] - at[None]).expand(*q.shape[:2], -1, -1)
            seen = (q @ keys.to(q.dtype)).gather(-1, row)
            seen = seen + (k @ queries.to(q.dtype)).gather(-1, row.transpose(-1, -2)).transpose(-1, -2)
            found: Tensor = seen * q.shape[-1] ** -0.5
            return found

        return bias

    def _row(self, distance: Int[Tensor, "t t"]) -> Int[Tensor, "t t"]:
        """The row of each signed distance: one per short distance, log-spaced buckets for long ones."""
        near, far = self.buckets // 2, distance.abs()
        share = (far.clamp(min=1).double() / near).log() / math.log((self.farthest - 1) / near)
        bucket = distance.sign() * ((share * (near - 1)).ceil().long() + near)
        return (torch.where(far <= near, distance, bucket) + self.buckets).clamp(0, 2 * self.buckets - 1)


def bucket(offset: Int[Tensor, "t t"], buckets: int) -> Int[Tensor, "t t"]:
    """The bucket of each offset: half the buckets per direction, one per short distance, log-spaced for long ones."""
    half = buckets // 2
    near = half // 2
    distance = offset.abs()
    scale = (half - near) / math.log(FAR / near)
    far = near + ((distance.clamp(min=1).float() / near).log() * scale).long()
    return (offset > 0).long() * half + torch.where(distance < near, distance, far.clamp(max=half - 1))
