"""Smoothing (SmoothQuant, Xiao et al. 2023): moving the scale of a channel from the inputs of a product to its weights.

The inputs of a product are rounded with one step per token, so a channel with large values leaves few steps for the
others. X Wᵀ = (X c) (W / c)ᵀ for any positive c per channel, and c_j = √(max|W_j| / max|X_j|) makes both easier to
round. The native engine chooses c when it packs weights for int8 (native/smoothing.cpp); here they are stored, so that
int8 weights compute what it would compute from the original ones.

Only products that read a norm's output are smoothed. In BERT and its relatives that output is also the residual, so c
cannot be folded into the norm: it is stored as column scales, by which the engine multiplies a product's inputs.
"""

from dataclasses import replace

import numpy as np

from ...array_types import Float
from ..description import BlockWeights, Description, LinearWeights
from ..native.library import Model
from ..stored_weights import StoredTensor, int8_rows

PRODUCTS = {False: ("query", "key", "value"), True: ("up", "gate")}
"""The layers that read the same inputs, by whether they belong to the network or to attention."""


def smoothed(description: Description) -> tuple[Description, int]:
    """The encoder with int8 weights where the engine smooths a product, and the number of these products."""
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
    if weight.scales is not None:  # stored in int8, with these column scales
        return layer
    divided = int8_rows(StoredTensor(weight.fp32() / scales, name=weight.name))
    return replace(layer, weight=replace(divided, column_scales=scales))
