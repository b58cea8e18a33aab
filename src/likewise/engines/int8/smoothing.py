"""Smoothing (SmoothQuant, Xiao et al. 2023): moves channel scales from the inputs of a matmul to its weights.

Inputs are quantized with one scale per token, so a channel with large values leaves little resolution for the other
channels. X Wᵀ = (X c) (W / c)ᵀ for any positive c per channel, and c_j = √(max|W_j| / max|X_j|) makes both factors
easier to quantize. The native engine chooses c when it packs weights for int8 (native/smoothing.cpp). This module
stores c with the int8 weights, so that the engine computes the same result as from the original weights.

Only matmuls that read the output of a norm are smoothed. In BERT and its relatives that output is also the residual,
so c cannot be folded into the norm. It is stored as column scales, by which the engine multiplies the inputs.
"""

from dataclasses import replace

import numpy as np

from ...array_types import Float
from ..description import BlockWeights, Description, LinearWeights
from ..native.library import Model
from ..stored_weights import StoredTensor, int8_rows

PRODUCTS = {False: ("query", "key", "value"), True: ("up", "gate")}
"""The layers that share their inputs: those of the feed-forward network (True) and of attention (False)."""


def smoothed(description: Description) -> tuple[Description, int]:
    """The encoder with int8 weights for every matmul that the engine smooths, and the number of these matmuls."""
    model, blocks, count = Model(description, precision="int8"), list(description.blocks), 0
    for i in range(len(blocks)):
        for network in PRODUCTS:
            scales = model.input_scales(i, network=network)
            if scales is not None:
                blocks[i] = _with_column_scales(blocks[i], PRODUCTS[network], scales)
                count += 1
    return replace(description, blocks=blocks), count


def _with_column_scales(block: BlockWeights, names: tuple[str, ...], scales: Float[np.ndarray, " D"]) -> BlockWeights:
    layers: dict[str, LinearWeights | None] = {name: getattr(block, name) for name in names}
    return replace(block, **{name: _scaled(layer, scales) for name, layer in layers.items() if layer is not None})  # type: ignore[arg-type]


def _scaled(layer: LinearWeights, scales: Float[np.ndarray, " D"]) -> LinearWeights:
    weight = layer.weight
    if weight.scales is not None:  # already stored in int8, with these column scales
        return layer
    divided = int8_rows(StoredTensor(weight.fp32() / scales, name=weight.name))
    return replace(layer, weight=replace(divided, column_scales=scales))
