"""Weights in int8: each row of a matrix as whole numbers from −127 to 127, and the quantization step of the row.

This needs a quarter of fp32's size, on disk only: weights are dequantized when they are read, and computation is
unchanged. A number is off by at most half a step, 1/254 of the largest of its row. Vectors and scalars stay in fp32.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from ..runtime.weight_files import LARGEST_INT8, ROW_STEP_SUFFIX


def quantized_tensors(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights by name, with each matrix replaced by two tensors: int8 numbers and steps."""
    found: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if tensor.dim() == 2:
            found[name], found[name + ROW_STEP_SUFFIX] = quantize_rows(tensor.float())
        else:
            found[name] = tensor.float()
    return found


def quantize_rows(matrix: Float[Tensor, "R C"]) -> tuple[Int8[Tensor, "R C"], Float[Tensor, " R"]]:
    """Quantize a matrix to int8, with one step per row; a row of zeros has the step 0."""
    step = matrix.abs().amax(1) / LARGEST_INT8
    whole = torch.where(step[:, None] > 0, matrix / step[:, None], 0.0).round().clamp(-LARGEST_INT8, LARGEST_INT8)
    return whole.to(torch.int8), step


def dequantized(whole: Int8[Tensor, "R C"], step: Float[Tensor, " R"]) -> Float[Tensor, "R C"]:
    """The dequantized matrix, exact to within half a step."""
    return whole.float() * step.float()[:, None]
