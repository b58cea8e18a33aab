"""Objectives over triplets: the anchor is to be nearer to the positive than to the negative, by a margin."""

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor
from torch.nn import functional as F

from ...errors import BadInput
from .distances import check_distance, paired_distances, pairwise_distances
from .objective import Columns, InputColumns, Labels, Loss, Objective, Texts, Vectors, check_not_negative


class Triplet(Objective):
    """mean of max(d(a, p) − d(a, n) + margin, 0); the paper's has Euclidean distances and margin 1.

    Args:
        margin: in units of the distance.
        distance: one of `DISTANCES`.
    """

    def __init__(self, margin: float = 1.0, distance: str = "euclidean") -> None:
        super().__init__()
        check_not_negative(margin=margin)
        self.margin, self.distance = margin, check_distance(distance)

    def forward(self, anchor: Vectors, positive: Vectors, negative: Vectors) -> Loss:
        near, far = (paired_distances(anchor, other, self.distance) for other in (positive, negative))
        return F.relu(near - far + self.margin).mean()

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        if all(p == n for p, n in zip(texts["positive"], texts["negative"], strict=True)):
            raise BadInput("in every row the negative is the positive, so there is nothing to tell apart")


class BatchTriplets(Objective):
    """The triplets that a batch of labelled texts holds: same label near, another label far.

    `hard` takes each anchor's farthest positive and nearest negative (Hermans, Beyer and Leibe 2017, equation 5);
    `all` every triplet, the mean over those that still cost (their equation 6); `semi-hard` for each pair of one label
    the nearest negative that is farther than the positive, or, where there is none, the farthest negative (Schroff,
    Kalenichenko and Philbin 2015). A batch without a triplet costs 0.

    Args:
        choose: `"hard"`, `"semi-hard"` or `"all"`.
        margin: in units of the distance; 0.2 suits vectors of length 1.
        distance: one of `DISTANCES`.
        each: rows of one label in a batch, as far as there are so many.
    """

    def __init__(self, choose: str = "hard", margin: float = 0.2, distance: str = "euclidean", each: int = 4) -> None:
        super().__init__()
        if each < 2:
            raise BadInput(f"each is {each}; wanted two rows of a label or more, for one alone has no positive")
        if choose not in TRIPLET_STRATEGIES:
            raise BadInput(f"there are no {choose!r} triplets; there are {', '.join(TRIPLET_STRATEGIES)}")
        check_not_negative(margin=margin)
        self.choose, self.margin, self.distance, self.each = choose, margin, check_distance(distance), each

    def reads(self) -> InputColumns:
        return replace(super().reads(), together="label", each=self.each)

    def forward(self, sentence: Vectors, *, label: Labels) -> Loss:
        apart = pairwise_distances(sentence, sentence, self.distance)
        costs = TRIPLET_STRATEGIES[self.choose](apart, label[:, None] == label[None], self.margin)
        return costs.mean() if len(costs) else 0 * apart.sum()

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        labels, first, counts = np.unique(numbers["label"], return_index=True, return_counts=True)
        if len(labels) < 2 or counts.max() < 2:
            told = f"all are {labels[0]}" if len(labels) < 2 else "each occurs once"
            raise BadInput(f"triplets want two labels or more, and one that occurs twice; here {told}")
        if counts.min() == 1:
            row = int(first[counts == 1][0])
            warnings.warn(
                f"{int((counts == 1).sum())} labels occur once, the first in row {row} ({numbers['label'][row]}): "
                "their texts are only ever negatives",
                stacklevel=3,
            )


def _positive_mask(same: Bool[Tensor, "N N"]) -> Bool[Tensor, "N N"]:
    """Who is a positive of whom: of one label, and not oneself."""
    return same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)


def _hard_costs(apart: Tensor, same: Tensor, margin: float) -> Tensor:
    positives = _positive_mask(same)
    far = apart.masked_fill(~positives, -torch.inf).amax(1)
    near = apart.masked_fill(same, torch.inf).amin(1)
    usable = positives.any(1) & ~same.all(1)
    return F.relu(far[usable] - near[usable] + margin)


def _semi_hard_costs(apart: Tensor, same: Tensor, margin: float) -> Tensor:
    anchors, positives = (_positive_mask(same) & ~same.all(1)[:, None]).nonzero(as_tuple=True)
    near = apart[anchors, positives]
    farther = apart[anchors].masked_fill(same[anchors] | (apart[anchors] <= near[:, None]), torch.inf).amin(1)
    farthest = apart[anchors].masked_fill(same[anchors], -torch.inf).amax(1)
    return F.relu(near - torch.where(farther.isinf(), farthest, farther) + margin)


def _all_costs(apart: Tensor, same: Tensor, margin: float) -> Tensor:
    anchors, positives = _positive_mask(same).nonzero(as_tuple=True)
    costs = F.relu(apart[anchors, positives][:, None] - apart[anchors] + margin)[~same[anchors]]
    return costs[costs > 0]


TRIPLET_STRATEGIES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "hard": _hard_costs,
    "semi-hard": _semi_hard_costs,
    "all": _all_costs,
}
"""Distances (N, N), who is of one label (N, N), and the margin, to the costs of the chosen triplets."""
