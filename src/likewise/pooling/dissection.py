"""SBERT-WK (Wang and Kuo 2020): words as weighted sums of layers, sentences as importance-weighted sums of words.

The published procedure factorizes a small matrix for every word and layer, but needs only the cosines between a word's
layers. So we compute these cosines for many words at once; what remains is Gaussian elimination on small matrices,
again for all words at once:

    novelty     β = √(1 − ρ²)             the part of layer k that its neighbours do not span; ρ² = cᵀ K⁻¹ c
    alignment   A = ρ / (2 (m + 1) c̄)     how well layer k agrees with that span; c̄ is the mean of c
    weights     α = (A / ΣA + β / Σβ) / 2
    importance  v = variance of the cosines between consecutive layers

K holds the cosines among the m neighbours of layer k, and c the cosines of the neighbours with layer k itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import NamedTuple
from warnings import warn

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from ..array_types import Bool, Float
from ..arrays.dissection import LEAST_AGREEMENT, NAME, NO_VARIANCE, DissectionSettings
from ..arrays.ragged import Layers, Ragged

CHUNK = {"cpu": 1 << 20, "cuda": 1 << 28}  # bytes of vectors processed at once; on a CPU, they should fit in the cache


class Dissected(NamedTuple):
    """SBERT-WK's measures for T words over L layers."""

    novelty: Float[Tensor, "L T"]
    alignment: Float[Tensor, "L T"]
    weights: Float[Tensor, "L T"]
    importance: Float[Tensor, " T"]


@dataclass(frozen=True)
class Dissection(DissectionSettings):
    """SBERT-WK as differentiable pooling: `Dissection(start=4, window=2)`, or `"sbert-wk:start=4,window=2"` by name.

    As in the authors' code, each sentence's last token ([SEP]) is left out and its first ([CLS]) is kept. The layers
    from `start` onwards stay in memory until a batch is done; nothing else of that size is kept.
    """

    def __call__(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N D"]:
        paths = list(islice(layers, self.start, None))
        self.check(self.start + len(paths))
        dissected = self.dissect(cosines_between(paths), rounding_noise(paths[0].dtype))
        shares = shares_in_sentence(dissected.importance, tokens, self.robust)
        return window_sums(paths, torch.where(shares != 0, dissected.weights * shares, 0), tokens)

    def dissect(self, cosines: Float[Tensor, "L L T"], noise: float) -> Dissected:
        """Novelty, alignment, weights and importance of words, from the cosines between their layers.

        `noise` is the largest numerical error expected in the cosines.
        """
        systems, present = self._systems(cosines)
        residual = orthogonal_residual(systems, noise)
        count = present[:-1].sum(0)[:, None]
        agreement = systems[:-1, -1].sum(0) / count
        if self.robust:
            agreement = agreement.clamp(min=LEAST_AGREEMENT)
        novelty = _root(residual)
        alignment = 1 / agreement if self.alignment == "paper" else _root(1 - residual) / (2 * (count + 1) * agreement)
        weights = self._weights(novelty, alignment, noise)
        steps = torch.diagonal(cosines, offset=1)
        return Dissected(novelty, alignment, weights, (steps - steps.mean(1, keepdim=True)).square().mean(1))

    def _systems(self, cosines: Float[Tensor, "L L T"]) -> tuple[Float[Tensor, "S S L T"], Bool[Tensor, "S L"]]:
        """For each layer, the cosines among its neighbours and itself (last); zeros for a missing neighbour."""
        at, present = (torch.from_numpy(array).to(cosines.device) for array in self.neighbours(len(cosines)))
        systems = cosines[at[:, None], at[None]]
        return systems * (present[:, None] & present[None])[..., None], present

    def _weights(
        self, novelty: Float[Tensor, "L T"], alignment: Float[Tensor, "L T"], noise: float
    ) -> Float[Tensor, "L T"]:
        if not self.robust:
            return (novelty / novelty.sum(0) + alignment / alignment.sum(0)) / 2
        count = len(novelty)
        new = _shares(novelty, count * noise**0.5, torch.full_like(novelty, 1 / count))
        return (new + _shares(alignment, noise, new)) / 2


def cosines_between(paths: Sequence[Float[Tensor, "T D"]]) -> Float[Tensor, "L L T"]:
    """The cosine of each word's vectors at any two layers, in fp64 if the device supports it; 0 for a zero vector."""
    products = torch.cat([torch.bmm(x, x.transpose(1, 2)) for x in _chunks(paths)]).permute(1, 2, 0)
    if products.device.type != "mps":
        products = products.double()
    squares, lowest = torch.diagonal(products).T, torch.finfo(torch.float32).tiny
    inverse = torch.where(squares > lowest, squares.clamp(min=lowest).rsqrt(), 0)
    return products * inverse[:, None] * inverse


def rounding_noise(dtype: torch.dtype) -> float:
    """The largest expected error of cosines in this precision; precisions below fp32 are computed in fp32."""
    return 16 * torch.finfo(torch.promote_types(dtype, torch.float32)).eps


def window_sums(
    paths: Sequence[Float[Tensor, "T D"]], weights: Float[Tensor, "L T"], tokens: Ragged
) -> Float[Tensor, "N D"]:
    """The weighted sum over a sentence's words and their layers.

    `embedding_bag` computes it for one layer, reading each vector once and storing no intermediate vectors.
    """
    rows, starts = torch.arange(len(tokens.values), device=weights.device), tokens.offsets[:-1].long()
    exact = torch.promote_types(paths[0].dtype, torch.float32)
    bags = (
        embedding_bag(rows, x.to(exact), starts, mode="sum", per_sample_weights=share.to(exact))
        for x, share in zip(paths, weights, strict=True)
    )
    return reduce(torch.add, bags)


def _chunks(paths: Sequence[Float[Tensor, "T D"]]) -> Iterator[Float[Tensor, "t L D"]]:
    """The layers of a few words at a time, stacked, in fp32 or better; each chunk fits in the cache."""
    like = paths[0]
    exact = torch.promote_types(like.dtype, torch.float32)
    step = max(1, CHUNK.get(like.device.type, CHUNK["cuda"]) // (len(paths) * like.shape[1] * exact.itemsize))
    for parts in zip(*(torch.split(layer, step) for layer in paths), strict=True):
        yield torch.stack(parts, dim=1).to(exact)


def orthogonal_residual(systems: Float[Tensor, "S S *rest"], noise: float) -> Float[Tensor, "*rest"]:
    """The square of the last unknown after the others are eliminated: 1 − ρ².

    This is Gaussian (Cholesky) elimination without pivoting. A pivot within the noise means that its vector lies in
    the span of the earlier ones; it is skipped, which gives the same result as a pseudo-inverse.
    """
    while len(systems) > 1:
        pivot, row = systems[0, 0], systems[0, 1:]
        scaled = torch.where(pivot > noise, row / pivot.clamp(min=noise), 0)
        systems = systems[1:, 1:] - row[:, None] * scaled
    return systems[0, 0]


def shares_in_sentence(importance: Float[Tensor, " T"], tokens: Ragged, robust: bool = True) -> Float[Tensor, " T"]:
    """Each token's share of its sentence's importance; the shares add up to 1, and the last token's is 0."""
    if min(tokens.lengths, default=2) < 2:
        warn(f"{NAME} leaves out a sentence's last token, so a one-token sentence has a zero vector", stacklevel=3)
    real = ~tokens.is_last
    left = torch.where(real, importance, 0)
    sums = left.new_zeros(len(tokens)).index_add(0, tokens.sentence, left)[tokens.sentence]
    if not robust:
        return torch.where(real, left / sums, 0)
    others = (tokens.counts[tokens.sentence] - 1).clamp(min=1)
    return torch.where(sums > NO_VARIANCE * others, left / sums.clamp(min=NO_VARIANCE), real / others)


def _shares(x: Float[Tensor, "L T"], lowest: float, otherwise: Float[Tensor, "L T"]) -> Float[Tensor, "L T"]:
    """Each layer's share of the sum over layers; `otherwise` if the sum is about zero."""
    sums = x.sum(0)
    return torch.where(sums > lowest, x / sums.clamp(min=lowest), otherwise)


def _root(x: Float[Tensor, "*rest"]) -> Float[Tensor, "*rest"]:
    """√x, or 0 with a gradient of 0 if rounding left x at or below 0."""
    return torch.where(x > 0, x.clamp(min=1e-30).sqrt(), 0)
