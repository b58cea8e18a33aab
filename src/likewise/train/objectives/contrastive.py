"""Contrastive objectives: the model must identify each anchor's positive in the batch; false negatives are masked."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...array_types import Bool, Float, Int
from ...errors import BadInput
from .objective import Columns, InputColumns, Labels, Loss, Matrix, Objective, TextIds, Texts, Vectors

MIN_TEMPERATURE = 0.01  # the lower bound of a learned temperature (Radford et al. 2021, CLIP)


class Contrastive(Objective):
    """InfoNCE over the batch, also called multiple negatives ranking (van den Oord 2018, Henderson 2017).

    All other positives and all negatives in the batch are negatives of the anchor, except false negatives: the anchor's
    own text, and any text that is a positive, in any row, of the same anchor or of an anchor in the same `group`.
    Cosines are divided by the temperature, which may also be learned (as in CLIP). `symmetric` averages this loss with
    the loss of the reverse task, which is to identify each positive's anchor.

    `guide` holds a guide model's vectors of all texts of a row, concatenated (`teacher_outputs` computes them). A
    candidate that the guide rates as more similar to the anchor than the anchor's own positive is also a false negative
    (Solatorio 2024, GISTEmbed).
    """

    def __init__(self, temperature: float = 0.05, *, learn_temperature: bool = False, symmetric: bool = False) -> None:
        super().__init__()
        lowest = MIN_TEMPERATURE if learn_temperature else 0
        if not lowest < temperature < math.inf:
            raise BadInput(f"temperature is {temperature}; expected a finite number above {lowest}")
        self.temperature, self.learn_temperature, self.symmetric = temperature, learn_temperature, symmetric
        self.log_scale = nn.Parameter(torch.tensor(-math.log(temperature))) if learn_temperature else None

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:  # noqa: ARG002
        if self.log_scale is not None:  # otherwise a second run would start from what the first had learned
            nn.init.constant_(self.log_scale, -math.log(self.temperature))

    def forward(
        self,
        anchor: Vectors,
        positive: Vectors,
        *negatives: Vectors,
        text_ids: TextIds,
        group: Labels | None = None,
        guide: Matrix | None = None,
    ) -> Loss:
        scale = 1 / self.temperature if self.log_scale is None else self._clamped_scale(self.log_scale)
        guides = None if guide is None else guide_vectors(guide, 2 + len(negatives))
        masked = false_negative_mask(text_ids[:, : 2 + len(negatives)], group, guides)
        loss = contrastive(anchor, [positive, *negatives], masked, scale)
        if self.symmetric:
            swapped = false_negative_mask(text_ids[:, [1, 0]], group, None if guides is None else guides[:, [1, 0]])
            loss = (loss + contrastive(positive, [anchor], swapped, scale)) / 2
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
    """Each text is its own positive, encoded a second time with different dropout (Gao, Yao and Chen 2021).

    The two encodings differ only in the model's dropout; without dropout, a model learns only to push texts apart.
    """

    def reads(self) -> InputColumns:
        return replace(super().reads(), texts=("sentence",), repeats=2)

    def forward(self, sentence: Vectors, again: Vectors, *, text_ids: TextIds) -> Loss:  # type: ignore[override]
        return super().forward(sentence, again, text_ids=text_ids)


def contrastive(
    anchors: Vectors, candidates: Sequence[Tensor], masked: Bool[Tensor, "N M"], scale: float | Tensor
) -> Loss:
    """Cross-entropy of each anchor's positive (the same row of `candidates[0]`) among all rows of all candidates.

    Cosines are multiplied by `scale`; `masked` candidates (`false_negative_mask`) are left out.
    """
    unit_candidates = F.normalize(torch.cat(list(candidates)), dim=1)
    scores = scale * F.normalize(anchors, dim=1) @ unit_candidates.T
    targets = torch.arange(len(anchors), device=anchors.device)
    return F.cross_entropy(scores.masked_fill(masked, -torch.inf), targets)


def false_negative_mask(
    text_ids: TextIds, group: Labels | None = None, guides: Float[Tensor, "N C D"] | None = None
) -> Bool[Tensor, "N M"]:
    """Which candidates (columns 1, 2 … of `text_ids`, concatenated) must not count as negatives of an anchor.

    Column 0 holds the anchors. Positives of rows in the same `group` are not negatives of each other's anchors. Nor are
    candidates that are more similar to the anchor than its positive is, according to the unit vectors `guides`.
    """
    anchors, positives = text_ids[:, 0], text_ids[:, 1]
    candidates = text_ids[:, 1:].T.reshape(-1)
    masked = (candidates[None] == anchors[:, None]) | _known_positive(anchors, positives, candidates)
    if group is not None:
        masked |= _known_positive(group, positives, candidates)
    if guides is not None:
        similarity = guides[:, 0] @ guides[:, 1:].transpose(0, 1).flatten(0, 1).T
        masked |= similarity > similarity.diagonal()[:, None]
    own = torch.arange(len(text_ids), device=text_ids.device)
    masked[own, own] = False
    return masked


def guide_vectors(guide: Matrix, columns: int) -> Float[Tensor, "N C D"]:
    """The guide's vectors of the texts in each row, normalized to unit length."""
    if guide.shape[1] % columns:
        raise BadInput(
            f"guide has {guide.shape[1]} numbers per row for {columns} texts; expected one vector per text, "
            "as computed by teacher_outputs(columns, guide, Contrastive())"
        )
    return F.normalize(guide.view(len(guide), columns, -1), dim=2)


def _known_positive(keys: Int[Tensor, " N"], positives: Int[Tensor, " N"], candidates: Int[Tensor, " M"]) -> Tensor:
    """(N, M): whether the candidate's text is the positive of any row with the same key (anchor or group)."""
    unique_keys, key_index = torch.unique(keys, return_inverse=True)
    unique_texts, text_index = torch.unique(torch.cat([positives, candidates]), return_inverse=True)
    table = torch.zeros(len(unique_keys), len(unique_texts), dtype=torch.bool, device=keys.device)
    table[key_index, text_index[: len(key_index)]] = True
    return table[key_index][:, text_index[len(key_index) :]]
