"""Weights in eight bits: each row of a matrix as whole numbers from −127 to 127, and the step between them.

A quarter of fp32's size, on disk alone: they are turned back when they are read, and products run as ever. A number is
off by half a step at most, a 254th of the largest of its row. Vectors and lone numbers are kept in fp32.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from ..runtime.weight_files import ROW_STEP_SUFFIX

LARGEST_INT8 = 127


def quantized_tensors(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights by name, each matrix among them as two."""
    found: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if tensor.dim() == 2:
            found[name], found[name + ROW_STEP_SUFFIX] = quantize_rows(tensor.float())
        else:
            found[name] = tensor.float()
    return found


def quantize_rows(matrix: Float[Tensor, "R C"]) -> tuple[Int8[Tensor, "R C"], Float[Tensor, " R"]]:
    """A matrix in eight bits and the steps of its rows; a row of zeros has the step 0."""
    step = matrix.abs().amax(1) / LARGEST_INT8
    whole = torch.where(step[:, None] > 0, matrix / step[:, None], 0.0).round().clamp(-LARGEST_INT8, LARGEST_INT8)
    return whole.to(torch.int8), step


def dequantized(whole: Int8[Tensor, "R C"], step: Float[Tensor, " R"]) -> Float[Tensor, "R C"]:
    """The matrix again, to within half a step."""
    return whole.float() * step.float()[:, None]
