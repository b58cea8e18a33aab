"""Contrastive objectives: an anchor is to find its positive among the batch; what is no wrong answer is masked."""

import math
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor, nn
from torch.nn import functional as F

from .objective import Loss, Names, Numbers, Objective, Vectors


class Contrastive(Objective):
    """InfoNCE over the batch, also called multiple negatives ranking (van den Oord 2018, Henderson 2017).

    Every other positive and every negative of the batch is a wrong answer, except: the anchor's own text, its
    positive's text again, positives of the same anchor, and rows of the same `group`.

    Args:
        temperature: cosines are divided by it.
        learned: whether the temperature is trained too (as in CLIP).
        symmetric: the positive is to find its anchor as well; the loss is the mean of both ways.
    """

    def __init__(self, temperature: float = 0.05, *, learned: bool = False, symmetric: bool = False) -> None:
        super().__init__()
        self.temperature, self.learned, self.symmetric = temperature, learned, symmetric
        self.log_scale = nn.Parameter(torch.tensor(-math.log(temperature)), requires_grad=learned)

    def forward(
        self, anchor: Vectors, positive: Vectors, *negatives: Vectors, names: Names, group: Numbers | None = None
    ) -> Loss:
        scale = self.log_scale.exp().clamp(max=100.0)
        found = contrastive(anchor, [positive, *negatives], names, scale, group)
        if self.symmetric:
            turned = names[:, [1, 0]]
            found = (found + contrastive(positive, [anchor], turned, scale, group)) / 2
        return found

    def describe(self) -> dict[str, Any]:
        settings = {"temperature": self.temperature, "learned": self.learned, "symmetric": self.symmetric}
        return {**super().describe(), **settings}


def contrastive(
    anchors: Vectors,
    answers: list[Tensor],
    names: Names,
    scale: float | Tensor = 20.0,
    group: Numbers | None = None,
) -> Loss:
    """Each anchor is to find its answer, the row of `answers[0]` beside it, among all rows of all answers.

    Args:
        anchors: (N, E).
        answers: the positives, then columns of negatives, (N, E) each.
        names: numbers of the texts: the anchors' in column 0, then the answers' in their order.
        scale: what cosines are multiplied with.
        group: rows of the same number are no wrong answers of each other.
    """
    candidates = F.normalize(torch.cat(answers), dim=1)
    likeness = scale * F.normalize(anchors, dim=1) @ candidates.T
    right = torch.arange(len(anchors), device=anchors.device)
    masked = no_wrong_answer(names[:, : 1 + len(answers)], group)
    return F.cross_entropy(likeness.masked_fill(masked, -torch.inf), right)


def no_wrong_answer(names: Names, group: Numbers | None = None) -> Bool[Tensor, "N M"]:
    """Which candidates (columns 1, 2 … of `names` laid end to end) an anchor must not be pushed away from."""
    anchors, positives = names[:, 0], names[:, 1]
    texts = names[:, 1:].T.reshape(-1)
    masked = (texts[None] == positives[:, None]) | (texts[None] == anchors[:, None])
    same = anchors[None] == anchors[:, None]
    if group is not None:
        same = same | (group[None] == group[:, None])
    masked[:, : len(names)] |= same
    own = torch.arange(len(names), device=names.device)
    masked[own, own] = False
    return masked
