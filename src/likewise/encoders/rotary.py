"""Rotary positions (Su et al. 2021, in halves rather than pairs)."""

import torch
from torch import Tensor

from ..array_types import Float
from ..arrays.ragged import Ragged

Rotation = tuple[Float[Tensor, "T 1 K"], Float[Tensor, "T 1 K"]]


def rotation(tokens: Ragged, theta: float, width: int, dtype: torch.dtype, stretch: float = 1.0) -> Rotation:
    """Cosines and sines of every token's angles, which are divided by `stretch`."""
    speeds = theta ** -(torch.arange(0, width, 2, device=tokens.values.device, dtype=torch.float32) / width) / stretch
    angles = (tokens.position[:, None].float() * speeds).repeat(1, 2)[:, None]
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x: Float[Tensor, "T H K"], rotation: Rotation) -> Float[Tensor, "T H K"]:
    """Rotate each pair (x_i, x_{i+K/2}) by its token's angle."""
    cos, sin = rotation
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin
