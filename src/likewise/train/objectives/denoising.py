"""TSDAE: a small decoder reconstructs a text from the vector of a copy with most of its words deleted."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...array_types import Float, Int
from ...errors import BadInput
from ...runtime.arguments import whole_number
from .objective import Loss, Objective, TokenIds, Vectors


class TSDAE(Objective):
    """Cross-entropy of a decoder that sees the sentence vector and the tokens so far (Wang, Reimers, Gurevych 2021).

    The vector is the bottleneck, because the decoder attends to nothing else of the input. The paper's decoder is as
    deep as the encoder and shares its weights; this one is small and trained from scratch, so that the objective
    depends only on the model's dimension and vocabulary size.

    `deletion_ratio` is the share of tokens deleted from the encoder's input; at least one token is kept. The model's
    dimension must be divisible by `decoder_heads`.
    """

    def __init__(self, deletion_ratio: float = 0.6, decoder_layers: int = 1, decoder_heads: int = 4) -> None:
        super().__init__()
        if not 0 <= deletion_ratio < 1:
            raise BadInput(f"deletion_ratio is {deletion_ratio}; expected 0 or more, and below 1")
        self.deletion_ratio, self.decoder_layers = deletion_ratio, whole_number("decoder_layers", decoder_layers)
        self.decoder_heads = whole_number("decoder_heads", decoder_heads)
        self.decoder: _Decoder | None = None

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:
        if not vocabulary:
            raise BadInput(
                f"the model has a vocabulary of {vocabulary} tokens; TSDAE needs tokens to reconstruct texts"
            )
        if dimension % self.decoder_heads:
            raise BadInput(
                f"the dimension {dimension} is not divisible by decoder_heads={self.decoder_heads}; choose a divisor"
            )
        self.decoder = _Decoder(dimension, vocabulary, self.decoder_layers, self.decoder_heads)

    def add_noise(self, token_ids: list[int]) -> list[int]:
        keep = (torch.rand(len(token_ids)) >= self.deletion_ratio).tolist()
        return [i for i, stays in zip(token_ids, keep, strict=True) if stays] or token_ids[:1]

    def forward(self, sentence: Vectors, *, token_ids: TokenIds) -> Loss:
        assert self.decoder is not None, "initialize must be called first"
        logits = self.decoder(sentence, token_ids)
        return F.cross_entropy(logits.flatten(0, 1), token_ids.flatten(), ignore_index=-1)


class _Decoder(nn.Module):
    """A causal transformer over the tokens so far, with the sentence's vector as its only memory.

    Padding needs no mask of its own: it is on the right, where the causal mask hides it from earlier tokens.
    """

    def __init__(self, width: int, vocabulary: int, layers: int, heads: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary + 1, width)  # the last embedding marks the start of a text
        nn.init.normal_(self.words.weight, std=width**-0.5)
        self.blocks = nn.ModuleList(
            nn.TransformerDecoderLayer(width, heads, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, vectors: Vectors, token_ids: TokenIds) -> Float[Tensor, "N T V"]:
        begin = token_ids.new_full((len(token_ids), 1), len(self.words.weight) - 1)
        previous = torch.cat([begin, token_ids[:, :-1].clamp(min=0)], dim=1)
        length = token_ids.shape[1]
        x = self.words(previous) + _sinusoidal_positions(length, vectors)
        causal_mask = torch.ones(length, length, dtype=torch.bool, device=token_ids.device).triu(1)
        for block in self.blocks:
            x = block(x, vectors[:, None], tgt_mask=causal_mask)
        logits: Tensor = self.norm(x) @ self.words.weight[:-1].T
        return logits


def _sinusoidal_positions(length: int, like: Tensor) -> Float[Tensor, "T E"]:
    """Sines and cosines of the position at decreasing frequencies (Vaswani et al. 2017)."""
    width = like.shape[1]
    position = torch.arange(length, device=like.device, dtype=like.dtype)
    frequencies = torch.exp(-math.log(10_000) * torch.arange(0, width, 2, device=like.device, dtype=like.dtype) / width)
    angles = position[:, None] * frequencies
    waves = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :width]
    return waves / math.sqrt(width)


def pad_token_ids(rows: list[list[int]], device: torch.device) -> Int[Tensor, "N T"]:
    """Lists of ids as a matrix, padded on the right with −1."""
    parts = [torch.tensor(row, device=device) for row in rows]
    padded: Tensor = nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=-1)
    return padded
