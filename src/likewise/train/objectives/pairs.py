"""Objectives over pairs with a label or a score (Reimers and Gurevych 2019, section 3; and what came after)."""

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .objective import Loss, Numbers, Objective, Vectors

Part = Literal["u", "v", "|u-v|", "u*v"]
PARTS: dict[str, Any] = {
    "u": lambda u, v: u,  # noqa: ARG005
    "v": lambda u, v: v,  # noqa: ARG005
    "|u-v|": lambda u, v: (u - v).abs(),
    "u*v": lambda u, v: u * v,
}
CONCATENATIONS: tuple[tuple[Part, ...], ...] = (
    ("u", "v"),
    ("|u-v|",),
    ("u*v",),
    ("|u-v|", "u*v"),
    ("u", "v", "u*v"),
    ("u", "v", "|u-v|"),
    ("u", "v", "|u-v|", "u*v"),
)
"""The seven of the paper's ablation (Table 6)."""


class Classification(Objective):
    """Cross-entropy of softmax(W (u, v, |u − v|)), the paper's classification objective.

    Args:
        labels: how many classes there are; a label is a whole number from 0.
        parts: what is laid side by side.
    """

    def __init__(self, labels: int = 3, parts: tuple[Part, ...] = ("u", "v", "|u-v|")) -> None:
        super().__init__()
        self.labels, self.parts = labels, parts
        self.classifier: nn.Linear | None = None

    def fit_to(self, width: int) -> None:
        self.classifier = nn.Linear(len(self.parts) * width, self.labels)

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, label: Numbers) -> Loss:
        assert self.classifier is not None, "fit_to is called first"
        seen = torch.cat([PARTS[part](sentence1, sentence2) for part in self.parts], dim=1)
        return F.cross_entropy(self.classifier(seen), label.long())

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "labels": self.labels, "parts": list(self.parts)}


class Regression(Objective):
    """Mean squared error of cosine(u, v) and a score in 0 … 1, the paper's regression objective."""

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        return F.mse_loss(F.cosine_similarity(sentence1, sentence2), score)


class CoSENT(Objective):
    """`cosent`: every pair that should be more alike than another is to have the larger cosine (Su 2022)."""

    def __init__(self, scale: float = 20.0) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        return cosent(sentence1, sentence2, score, self.scale)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "scale": self.scale}


def cosent(u: Vectors, v: Vectors, scores: Numbers, scale: float = 20.0) -> Loss:
    """log(1 + Σ exp(scale (cos_j − cos_i))) over the pairs i, j of pairs with score_i > score_j (Su 2022, CoSENT).

    Only the order of the scores matters, as in Spearman's correlation.
    """
    return _ordered(scale * F.cosine_similarity(u, v), scores)


def _ordered(likeness: Tensor, scores: Tensor) -> Tensor:
    wrong = (likeness[None] - likeness[:, None]).masked_fill(scores[:, None] <= scores[None], -torch.inf)
    return torch.cat([wrong.new_zeros(1), wrong.flatten()]).logsumexp(0)
