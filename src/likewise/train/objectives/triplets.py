"""Objectives over triplets: the anchor is to be nearer to the positive than to the negative, by a margin."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from ...errors import BadInput
from .objective import Loss, Objective, Vectors

DISTANCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "euclidean": F.pairwise_distance,
    "cosine": lambda a, b: 1 - F.cosine_similarity(a, b),
    "manhattan": lambda a, b: (a - b).abs().sum(1),
}


class Triplet(Objective):
    """mean of max(d(a, p) − d(a, n) + margin, 0); the paper's has Euclidean distances and margin 1."""

    def __init__(self, margin: float = 1.0, distance: str = "euclidean") -> None:
        super().__init__()
        if distance not in DISTANCES:
            raise BadInput(f"there is no distance {distance!r}; there are {', '.join(DISTANCES)}")
        self.margin, self.distance = margin, distance

    def forward(self, anchor: Vectors, positive: Vectors, negative: Vectors) -> Loss:
        apart = DISTANCES[self.distance]
        return F.relu(apart(anchor, positive) - apart(anchor, negative) + self.margin).mean()

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "margin": self.margin, "distance": self.distance}
