"""Contrastive objectives: an anchor is to find its positive among the batch; what is no wrong answer is masked."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ...errors import BadInput
from .objective import Columns, InputColumns, Labels, Loss, Objective, TextIds, Texts, Vectors

MIN_TEMPERATURE = 0.01  # a learned temperature falls no lower (Radford et al. 2021, CLIP)


class Contrastive(Objective):
    """InfoNCE over the batch, also called multiple negatives ranking (van den Oord 2018, Henderson 2017).

    Every other positive and every negative of the batch is a wrong answer, except: the anchor's own text, and any
    text that stands as a positive beside the same anchor, or beside an anchor of the same `group`, in any row.

    Args:
        temperature: cosines are divided by it.
        learned: whether the temperature is trained too (as in CLIP).
        symmetric: the positive is to find its anchor as well; the loss is the mean of both ways.
    """

    def __init__(self, temperature: float = 0.05, *, learned: bool = False, symmetric: bool = False) -> None:
        super().__init__()
        least = MIN_TEMPERATURE if learned else 0
        if not least < temperature < math.inf:
            raise BadInput(f"temperature is {temperature}; wanted a number above {least}")
        self.temperature, self.learned, self.symmetric = temperature, learned, symmetric
        self.log_scale = nn.Parameter(torch.tensor(-math.log(temperature))) if learned else None

    def forward(
        self, anchor: Vectors, positive: Vectors, *negatives: Vectors, names: TextIds, group: Labels | None = None
    ) -> Loss:
        scale = 1 / self.temperature if self.log_scale is None else self._learned(self.log_scale)
        found = contrastive(anchor, [positive, *negatives], names, scale, group)
        if self.symmetric:
            turned = names[:, [1, 0]]
            found = (found + contrastive(positive, [anchor], turned, scale, group)) / 2
        return found

    def _learned(self, log_scale: nn.Parameter) -> Tensor:
        """Held at the sharpest in the weight itself, so that its gradient may lead away from there (as in CLIP)."""
        with torch.no_grad():
            log_scale.clamp_(max=-math.log(MIN_TEMPERATURE))
        return log_scale.exp()

    def check(self, texts: Texts, numbers: Columns) -> None:
        first, more = next(iter(texts.values())), len(texts) > 2
        one_text = len(set(first)) == 1
        if len(first) > 1 and not more and (one_text or len(np.unique(numbers.get("group", [0, 1]))) == 1):
            what = f"text is {first[0]!r}" if one_text else f"group is {numbers['group'][0]}"
            raise BadInput(f"in all {len(first):,} rows the {what}: no row holds a wrong answer for another")


class SimCSE(Contrastive):
    """A text is to find itself among the batch, read twice with other words dropped (Gao, Yao and Chen 2021).

    The two readings differ by the model's dropout alone: a model without it learns only to keep texts apart.
    """

    def reads(self) -> InputColumns:
        return replace(super().reads(), texts=("sentence",), repeats=2)

    def forward(self, sentence: Vectors, again: Vectors, *, names: TextIds) -> Loss:  # type: ignore[override]
        return super().forward(sentence, again, names=names)


def contrastive(
    anchors: Vectors,
    answers: Sequence[Tensor],
    names: TextIds,
    scale: float | Tensor = 20.0,
    group: Labels | None = None,
) -> Loss:
    """Each anchor is to find its answer, the row of `answers[0]` beside it, among all rows of all answers.

    Args:
        anchors: (N, E).
        answers: the positives, then columns of negatives, (N, E) each.
        names: numbers of the texts: the anchors' in column 0, then the answers' in their order.
        scale: what cosines are multiplied with.
        group: the positives of rows of one number are no wrong answers of each other's anchors.
    """
    candidates = F.normalize(torch.cat(list(answers)), dim=1)
    likeness = scale * F.normalize(anchors, dim=1) @ candidates.T
    right = torch.arange(len(anchors), device=anchors.device)
    masked = false_negative_mask(names[:, : 1 + len(answers)], group)
    return F.cross_entropy(likeness.masked_fill(masked, -torch.inf), right)


def false_negative_mask(names: TextIds, group: Labels | None = None) -> Bool[Tensor, "N M"]:
    """Which candidates (columns 1, 2 … of `names` laid end to end) an anchor must not be pushed away from."""
    anchors, positives = names[:, 0], names[:, 1]
    candidates = names[:, 1:].T.reshape(-1)
    masked = (candidates[None] == anchors[:, None]) | _known_positive(anchors, positives, candidates)
    if group is not None:
        masked |= _known_positive(group, positives, candidates)
    own = torch.arange(len(names), device=names.device)
    masked[own, own] = False
    return masked


def _known_positive(askers: Int[Tensor, " N"], positives: Int[Tensor, " N"], candidates: Int[Tensor, " M"]) -> Tensor:
    """(N, M): whether the candidate's text is the positive of any row with the same asker."""
    whos, who = torch.unique(askers, return_inverse=True)
    whats, what = torch.unique(torch.cat([positives, candidates]), return_inverse=True)
    table = torch.zeros(len(whos), len(whats), dtype=torch.bool, device=askers.device)
    table[who, what[: len(who)]] = True
    return table[who][:, what[len(who) :]]
