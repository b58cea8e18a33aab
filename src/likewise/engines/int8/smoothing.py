"""Smoothing (SmoothQuant, Xiao et al. 2023): moving the scale of a channel from the inputs of a product to its weights.

The inputs of a product are rounded with one step per token, so a channel with large values leaves few steps for the
others. X Wᵀ = (X / s) (W s)ᵀ for any positive s per channel; with s_j = max|X_j|^α / max|W_j|^(1−α) both are easier to
round. Apart from rounding, this is exact:

- Pre-norm models (ModernBERT): a norm's output only goes into products, so 1/s is folded into its weight and bias. The
  first block's attention has no norm of its own, and is treated as in a post-norm model; so are Gemma 3's norms, which
  multiply by 1 + their weight.
- Post-norm models (BERT and its relatives): a norm's output is also the residual, which is added to the output of
  attention or network before the next norm. Folding 1/s into the norm would scale the residual too, and the next norm,
  whose mean and variance are over all channels, would not undo that. So 1/s is stored with the int8 weights as column
  scales, and the native engine multiplies a product's inputs by them before rounding; the residual is not affected.
  Weights read in fp32 equal the original ones up to rounding.
- Scales could also be folded between values and attention's output, and between gates and the network's second layer;
  that gained nothing on the models we measured (docs/logbook.md), so we do not do it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ...array_types import Float
from ...arrays.sequences import Sequences
from ..array_embedder import ArrayEmbedder
from ..description import BlockWeights, Description, LinearWeights
from ..numpy.encoders import NumpyEncoder
from ..numpy.numpy_embedder import NumpyEmbedder
from ..stored_weights import StoredTensor, int8_rows

Array = np.ndarray
Site = Literal["query", "up"]
"""A product that reads a norm's output: queries, keys and values together, or the first layer of the network."""
ROWS = 256  # kept from each batch
BATCH_TOKENS = 2048
STRENGTHS = (0.25, 0.5, 0.75)  # the values of α that are tried for each product
WORTHWHILE = 0.95  # times the error without smoothing; a product that stays above it is not smoothed
SMALLEST = 0.01  # relative to the largest channel; smaller channels are raised to it, so that no scale is extreme
LAYERS: dict[Site, tuple[str, ...]] = {"query": ("query", "key", "value"), "up": ("up", "gate")}
NORMS: dict[Site, str] = {"query": "norm1", "up": "norm2"}
"""The norm whose output the product reads in pre-norm models."""


@dataclass
class Inputs:
    """Statistics and a sample of the inputs of a product."""

    largest: Float[Array, " D"]  # of each channel, over all tokens
    rows: list[Float[Array, "R D"]] = field(default_factory=list)

    def add(self, x: Float[Array, "T D"]) -> None:
        """Record a batch."""
        self.largest = np.maximum(self.largest, np.abs(x).max(0, initial=0))
        self.rows.append(x[np.linspace(0, len(x) - 1, min(ROWS, len(x))).astype(int)])


class RecordingEncoder(NumpyEncoder):
    """NumPy's encoder, recording the inputs of its products; a block shared by several layers has one record."""

    def __init__(self, description: Description) -> None:
        super().__init__(description)
        self.inputs: dict[tuple[int, Site], Inputs] = {}

    def _attention(self, x: Array, block: object, tokens: Sequences) -> Array:
        self._record(block, "query", x)
        return super()._attention(x, block, tokens)  # type: ignore[arg-type]

    def _network(self, x: Array, block: object) -> Array:
        self._record(block, "up", x)
        return super()._network(x, block)  # type: ignore[arg-type]

    def _record(self, block: object, site: Site, x: Array) -> None:
        key = next(i for i, one in enumerate(self.blocks) if one is block), site
        self.inputs.setdefault(key, Inputs(np.zeros(self.width, np.float32))).add(x)


def record_inputs(
    model: ArrayEmbedder, description: Description, texts: Sequence[str]
) -> dict[tuple[int, Site], Inputs]:
    """The fp32 inputs of each product on these texts, by the index of the block and the product."""
    encoder = RecordingEncoder(description)
    embedder = NumpyEmbedder(model.tokenizer, encoder, model.pooling, model.heads, model.manifest)
    embedder.encode(texts, overflow="truncate", batch_tokens=BATCH_TOKENS, show_progress_bar=False)
    return encoder.inputs


@dataclass(frozen=True)
class Smoothing:
    """The scales of one product's input channels, and the squared error of its int8 results relative to their size."""

    block: int
    site: Site
    scales: Float[Array, " D"]
    error_before: float
    error_after: float


def choose_smoothings(description: Description, inputs: Mapping[tuple[int, Site], Inputs]) -> list[Smoothing]:
    """The best scales for each product with recorded inputs, if they improve its results."""
    found = (_choose(description.blocks[i], i, site, seen) for (i, site), seen in inputs.items())
    return [one for one in found if one is not None]


def smoothed(description: Description, smoothings: Sequence[Smoothing]) -> Description:
    """The encoder with these scales folded into norms, or kept as column scales of int8 weights."""
    blocks = list(description.blocks)
    for one in smoothings:
        block = blocks[one.block]
        folds = description.pre_norm and not description.one_more  # 1 + weight has no factor to fold into
        norm = getattr(block, NORMS[one.site]) if folds else None
        if norm is None:
            blocks[one.block] = _with_column_scales(block, one)
        else:
            folded: dict[str, Any] = {NORMS[one.site]: _divided(norm, one.scales)}
            blocks[one.block] = replace(_scaled(block, one), **folded)
    return replace(description, blocks=blocks)


def _choose(block: BlockWeights, index: int, site: Site, seen: Inputs) -> Smoothing | None:
    weights = np.concatenate([layer.weight.fp32() for _, layer in _layers(block, site)])
    largest = np.abs(weights).max(0)
    if not largest.any() or not seen.largest.any():
        return None
    x = np.concatenate(seen.rows)
    exact = x @ weights.T
    before = _error(x, weights, exact)
    tried = [_scales(seen.largest, largest, strength) for strength in STRENGTHS]
    after, scales = min(((_error(x / s, weights * s, exact), s) for s in tried), key=lambda pair: pair[0])
    return Smoothing(index, site, scales, before, after) if after < WORTHWHILE * before else None


def _scales(inputs: Float[Array, " D"], weights: Float[Array, " D"], strength: float) -> Float[Array, " D"]:
    inputs, weights = (np.maximum(part, SMALLEST * part.max()) for part in (inputs, weights))
    found = np.log(inputs) * strength - np.log(weights) * (1 - strength)
    return np.asarray(np.exp(found - found.mean()), np.float32)


def _error(x: Float[Array, "T D"], weights: Float[Array, "O D"], exact: Float[Array, "T O"]) -> float:
    rounded = int8_rows(StoredTensor(x)).fp32() @ int8_rows(StoredTensor(weights)).fp32().T
    return float(np.square(rounded - exact).sum(dtype=np.float64) / np.square(exact).sum(dtype=np.float64))


def _layers(block: BlockWeights, site: Site) -> list[tuple[str, LinearWeights]]:
    return [(name, getattr(block, name)) for name in LAYERS[site] if getattr(block, name) is not None]


def _scaled(block: BlockWeights, smoothing: Smoothing) -> BlockWeights:
    """The block with fp32 weights W s; its product takes inputs X / s."""
    changed: dict[str, Any] = {
        name: replace(layer, weight=StoredTensor(layer.weight.fp32() * smoothing.scales, name=layer.weight.name))
        for name, layer in _layers(block, smoothing.site)
    }
    return replace(block, **changed)


def _with_column_scales(block: BlockWeights, smoothing: Smoothing) -> BlockWeights:
    """The block with int8 weights W s and column scales 1 / s; its product takes inputs X."""
    divisors = (1 / smoothing.scales).astype(np.float32)
    changed: dict[str, Any] = {
        name: replace(layer, weight=replace(int8_rows(layer.weight), column_scales=divisors))
        for name, layer in _layers(_scaled(block, smoothing), smoothing.site)
    }
    return replace(block, **changed)


def _divided(norm: LinearWeights, scales: Float[Array, " D"]) -> LinearWeights:
    weight, bias = (
        None if part is None else StoredTensor(part.fp32() / scales, name=part.name)
        for part in (norm.weight, norm.bias)
    )
    assert weight is not None
    return LinearWeights(weight, bias)
