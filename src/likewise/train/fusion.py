"""Learned dissection, the training: a linear map over cached layer vectors, held close to plain pooling.

The encoder is frozen, so each text is encoded once and training is one small matrix. With x the pooled vectors of all
layers side by side and x_last those of the last, the fused vector is

    y = x_last + a (D x̃ + c),    x̃: x less its mean, each layer brought to unit size

and the loss is the objective's plus  strength · |D x̃ + c|² / |x_last|²  (means over the batch): what is penalised is
how far vectors leave plain pooling, in parts of their own size. How strong that is, when to stop, and the share
0 ≤ a ≤ 1 of the learned change that is kept are chosen on held-out pairs, of which no sentence was trained on;
a = 0 is plain pooling itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from ..embedder import Embedder
from ..errors import BadInput
from ..heads import Dense
from ..pooling import Fusion, Pooling, Reduce, Stack
from .objectives import contrastive, cosent

Measure = Callable[[Float[np.ndarray, " N"], Float[np.ndarray, " N"]], float]
"""How well cosines agree with gold scores: Spearman's correlation, say."""


@dataclass(frozen=True)
class Examples:
    """What to learn from: rows of text numbers, two a row with `scores`, or three (anchor, positive, negative)."""

    rows: Int[np.ndarray, "N c"]
    scores: Float[np.ndarray, " N"] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: Int[np.ndarray, " n"]) -> "Examples":
        return Examples(self.rows[which], None if self.scores is None else self.scores[which])

    @property
    def pairs(self) -> tuple[Int[np.ndarray, "M 2"], Float[np.ndarray, " M"]]:
        """Pairs and their gold. Of triplets: anchor and positive 2, anchor and negative 1, anchor and another's positive 0."""
        if self.scores is not None:
            return self.rows, self.scores
        others = np.stack([self.rows[:, 0], np.roll(self.rows[:, 1], len(self) // 2)], axis=1)
        fair = ~(others[:, None] == self.rows[:, 1:2, None]).any((1, 2)) if len(self) else np.ones(0, bool)
        rows = np.concatenate([self.rows[:, [0, 1]], self.rows[:, [0, 2]], others[fair]])
        return rows, np.repeat([2.0, 1.0, 0.0], [len(self), len(self), int(fair.sum())])


@dataclass(frozen=True)
class Recipe:
    """How to train."""

    strengths: tuple[float, ...] = (0.03, 0.3, 3.0)
    shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    rate: float = 1e-3
    batch: int = 256
    epochs: int = 20
    patience: int = 3
    held_out: float = 0.15
    rank: int = 0
    seed: int = 0


class Change(nn.Module):
    """D x̃ + c of the file's head; it begins at 0."""

    def __init__(self, center: Tensor, size: Tensor, narrow: int, rank: int = 0) -> None:
        super().__init__()
        self.register_buffer("center", center)
        self.register_buffer("size", size)
        wide = len(center)
        self.down = nn.Linear(wide, rank, bias=False) if rank else None
        self.up = nn.Linear(rank or wide, narrow)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = (x - self.center) / self.size
        return self.up(x if self.down is None else self.down(x))
