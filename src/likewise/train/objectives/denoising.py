"""TSDAE: from the vector of a text with most words deleted, a small decoder is to write the whole text."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ...errors import BadInput
from .objective import Loss, Objective, TokenIds, Vectors


class TSDAE(Objective):
    """Cross-entropy of a decoder that sees the sentence's vector and the tokens so far (Wang, Reimers, Gurevych 2021).

    The vector is the bottleneck: the decoder attends to nothing else of the text. Unlike the paper's, whose decoder is
    as deep as the encoder and shares its weights, this one is small and learned from nothing, so that the objective
    needs to know of the model no more than its width and how many ids there are.

    Args:
        noise: the share of tokens that are deleted from what the encoder reads; one is always left.
        depth: the decoder's blocks.
        heads: of its attention; the model's width must be divisible by it.
    """

    def __init__(self, noise: float = 0.6, depth: int = 1, heads: int = 4) -> None:
        super().__init__()
        if not 0 <= noise < 1 or depth < 1 or heads < 1:
            raise BadInput(
                f"noise is {noise}, depth {depth}, heads {heads}; wanted a share below 1, one block and head or more"
            )
        self.noise, self.depth, self.heads = noise, depth, heads
        self.decoder: _Decoder | None = None

    def fit_to(self, width: int, vocabulary: int = 0) -> None:
        if width % self.heads or not vocabulary:
            raise BadInput(
                f"the width {width} is not divisible by {self.heads} heads, or no ids are known ({vocabulary})"
            )
        self.decoder = _Decoder(width, vocabulary, self.depth, self.heads)

    def shown(self, content: list[int]) -> list[int]:
        kept = (torch.rand(len(content)) >= self.noise).tolist()
        return [i for i, keep in zip(content, kept, strict=True) if keep] or content[:1]

    def forward(self, sentence: Vectors, *, ids: TokenIds) -> Loss:
        assert self.decoder is not None, "fit_to is called first"
        scores = self.decoder(sentence, ids)
        return F.cross_entropy(scores.flatten(0, 1), ids.flatten(), ignore_index=-1)


class _Decoder(nn.Module):
    """A causal transformer over the tokens so far, with the sentence's vector as its only memory.

    What has ended stands at the right, where no earlier token looks, so it needs no mask.
    """

    def __init__(self, width: int, vocabulary: int, depth: int, heads: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary + 1, width)  # the last one begins a text
        nn.init.normal_(self.words.weight, std=width**-0.5)
        self.blocks = nn.ModuleList(
            nn.TransformerDecoderLayer(width, heads, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, vectors: Vectors, ids: TokenIds) -> Float[Tensor, "N T V"]:
        begin = ids.new_full((len(ids), 1), len(self.words.weight) - 1)
        before = torch.cat([begin, ids[:, :-1].clamp(min=0)], dim=1)
        x = self.words(before) + _positions(ids.shape[1], vectors)
        ahead = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).triu(1)
        for block in self.blocks:
            x = block(x, vectors[:, None], tgt_mask=ahead)
        scores: Tensor = self.norm(x) @ self.words.weight[:-1].T
        return scores


def _positions(length: int, like: Tensor) -> Float[Tensor, "T E"]:
    """Sines and cosines of the place, each pair of numbers slower than the last (Vaswani et al. 2017)."""
    width = like.shape[1]
    place = torch.arange(length, device=like.device, dtype=like.dtype)
    speeds = torch.exp(-math.log(10_000) * torch.arange(0, width, 2, device=like.device, dtype=like.dtype) / width)
    turns = place[:, None] * speeds
    waves = torch.stack([turns.sin(), turns.cos()], dim=2).flatten(1)[:, :width]
    return waves / math.sqrt(width)


def pad_token_ids(rows: list[list[int]], device: torch.device) -> Int[Tensor, "N T"]:
    """Lists of ids as a matrix, −1 where a row has ended."""
    parts = [torch.tensor(row, device=device) for row in rows]
    found: Tensor = nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=-1)
    return found
