"""Contrastive objectives: an anchor identifies its positive within the batch; false negatives are masked."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...array_types import Bool, Int
from ...errors import BadInput
from .objective import Columns, InputColumns, Labels, Loss, Objective, TextIds, Texts, Vectors

MIN_TEMPERATURE = 0.01  # the minimum of a learned temperature (Radford et al. 2021, CLIP)


class Contrastive(Objective):
    """InfoNCE over the batch, also called multiple negatives ranking (van den Oord 2018, Henderson 2017).

    All other positives and all negatives in the batch are negatives of the anchor, except false negatives: the anchor's
    own text, and any text that is a positive, in any row, of the same anchor or of an anchor in the same `group`.
    Cosines are divided by the temperature, which may also be learned (as in CLIP). `symmetric` averages this loss with
    that of the reverse task, identifying each positive's anchor.
    """

    def __init__(self, temperature: float = 0.05, *, learn_temperature: bool = False, symmetric: bool = False) -> None:
        super().__init__()
        lowest = MIN_TEMPERATURE if learn_temperature else 0
        if not lowest < temperature < math.inf:
            raise BadInput(f"temperature is {temperature}; expected a finite number above {lowest}")
        self.temperature, self.learn_temperature, self.symmetric = temperature, learn_temperature, symmetric
        self.log_scale = nn.Parameter(torch.tensor(-math.log(temperature))) if learn_temperature else None

    def forward(
        self, anchor: Vectors, positive: Vectors, *negatives: Vectors, text_ids: TextIds, group: Labels | None = None
    ) -> Loss:
        scale = 1 / self.temperature if self.log_scale is None else self._clamped_scale(self.log_scale)
        loss = contrastive(anchor, [positive, *negatives], text_ids, scale, group)
        if self.symmetric:
            swapped = text_ids[:, [1, 0]]
            loss = (loss + contrastive(positive, [anchor], swapped, scale, group)) / 2
        return loss

    def _clamped_scale(self, log_scale: nn.Parameter) -> Tensor:
        """Clamp the weight itself, so that its gradient can still move it away from the limit (as in CLIP)."""
        with torch.no_grad():
            log_scale.clamp_(max=-math.log(MIN_TEMPERATURE))
        return log_scale.exp()

    def check(self, texts: Texts, numbers: Columns) -> None:
        first, has_negatives = next(iter(texts.values())), len(texts) > 2
        one_text = len(set(first)) == 1
        one_group = len(np.unique(numbers.get("group", [0, 1]))) == 1
        if len(first) > 1 and not has_negatives and (one_text or one_group):
            what = f"text is {first[0]!r}" if one_text else f"group is {numbers['group'][0]}"
            raise BadInput(f"in all {len(first):,} rows the {what}, so no row provides a negative for another")


class SimCSE(Contrastive):
    """Each text identifies itself in the batch, encoded twice with different dropout (Gao, Yao and Chen 2021).

    The two encodings differ only by the model's dropout; without dropout, a model learns only to keep texts apart.
    """

    def reads(self) -> InputColumns:
        return replace(super().reads(), texts=("sentence",), repeats=2)

    def forward(self, sentence: Vectors, again: Vectors, *, text_ids: TextIds) -> Loss:  # type: ignore[override]
        return super().forward(sentence, again, text_ids=text_ids)


def contrastive(
    anchors: Vectors,
    candidates: Sequence[Tensor],
    text_ids: TextIds,
    scale: float | Tensor = 20.0,
    group: Labels | None = None,
) -> Loss:
    """Cross-entropy of each anchor's positive (the same row of `candidates[0]`) among all rows of all candidates.

    `text_ids` holds the ids of the texts: anchors in column 0, then candidates in order. Cosines are multiplied by
    `scale`. Positives of rows in the same `group` are not negatives of each other's anchors.
    """
    unit_candidates = F.normalize(torch.cat(list(candidates)), dim=1)
    scores = scale * F.normalize(anchors, dim=1) @ unit_candidates.T
    targets = torch.arange(len(anchors), device=anchors.device)
    masked = false_negative_mask(text_ids[:, : 1 + len(candidates)], group)
    return F.cross_entropy(scores.masked_fill(masked, -torch.inf), targets)


def false_negative_mask(text_ids: TextIds, group: Labels | None = None) -> Bool[Tensor, "N M"]:
    """Which candidates (columns 1, 2 … of `text_ids`, concatenated) must not count as negatives of an anchor."""
    anchors, positives = text_ids[:, 0], text_ids[:, 1]
    candidates = text_ids[:, 1:].T.reshape(-1)
    masked = (candidates[None] == anchors[:, None]) | _known_positive(anchors, positives, candidates)
    if group is not None:
        masked |= _known_positive(group, positives, candidates)
    own = torch.arange(len(text_ids), device=text_ids.device)
    masked[own, own] = False
    return masked


def _known_positive(keys: Int[Tensor, " N"], positives: Int[Tensor, " N"], candidates: Int[Tensor, " M"]) -> Tensor:
    """(N, M): whether the candidate's text is the positive of any row with the same key (anchor or group)."""
    unique_keys, key_index = torch.unique(keys, return_inverse=True)
    unique_texts, text_index = torch.unique(torch.cat([positives, candidates]), return_inverse=True)
    table = torch.zeros(len(unique_keys), len(unique_texts), dtype=torch.bool, device=keys.device)
    table[key_index, text_index[: len(key_index)]] = True
    return table[key_index][:, text_index[len(key_index) :]]
