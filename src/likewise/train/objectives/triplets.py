"""Triplet objectives: the anchor should be nearer to the positive than to the negative by a margin."""

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...array_types import Bool
from ...errors import BadInput
from ...runtime.arguments import known_name, whole_number
from .objective import Columns, InputColumns, Labels, Loss, Numbers, Objective, Texts, Vectors, check_not_negative


def _minkowski(power: float) -> Callable[[Tensor, Tensor], Tensor]:
    exact = "donot_use_mm_for_euclid_dist"  # |a|² − 2ab + |b|² is inaccurate for vectors close to each other
    return lambda a, b: torch.cdist(a, b, power, compute_mode=exact)


DISTANCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "euclidean": _minkowski(2.0),
    "cosine": lambda a, b: 1 - F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT,
    "manhattan": _minkowski(1.0),
}
"""Maps vectors (…, M, E) and (…, N, E) to distances (…, M, N)."""


def paired_distances(a: Vectors, b: Vectors, name: str) -> Numbers:
    """Distances from each row of `a` to the corresponding row of `b`."""
    return DISTANCES[name](a[:, None], b[:, None])[:, 0, 0]


class Triplet(Objective):
    """Mean of max(d(a, p) − d(a, n) + margin, 0); the paper uses Euclidean distances and a margin of 1."""

    def __init__(self, margin: float = 1.0, distance: str = "euclidean") -> None:
        super().__init__()
        check_not_negative(margin=margin)
        self.margin, self.distance = margin, known_name("distance", distance, DISTANCES)

    def forward(self, anchor: Vectors, positive: Vectors, negative: Vectors) -> Loss:
        to_positive, to_negative = (paired_distances(anchor, x, self.distance) for x in (positive, negative))
        return F.relu(to_positive - to_negative + self.margin).mean()

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        if all(p == n for p, n in zip(texts["positive"], texts["negative"], strict=True)):
            raise BadInput("in every row the negative equals the positive, so there is nothing to learn from")


class BatchTriplets(Objective):
    """Triplets from a batch of labelled texts: an anchor, a text with the same label, a text with another label.

    `hard` takes each anchor's farthest positive and nearest negative (Hermans, Beyer and Leibe 2017, equation 5).
    `all` takes every triplet and averages the losses above 0 (their equation 6). `semi-hard` takes, for each pair with
    the same label, the nearest negative that is farther than the positive, or else the farthest negative (Schroff,
    Kalenichenko and Philbin 2015). A batch without triplets has a loss of 0.

    A batch has `per_label` rows of each label, if the data have that many.
    """

    def __init__(
        self, strategy: str = "hard", margin: float = 0.2, distance: str = "euclidean", per_label: int = 4
    ) -> None:
        super().__init__()
        check_not_negative(margin=margin)
        self.strategy, self.margin = known_name("strategy", strategy, TRIPLET_STRATEGIES), margin
        self.distance = known_name("distance", distance, DISTANCES)
        self.per_label = whole_number("per_label", per_label, 2)  # a single row has no positive

    def reads(self) -> InputColumns:
        return replace(super().reads(), group_by="label", per_group=self.per_label)

    def forward(self, sentence: Vectors, *, label: Labels) -> Loss:
        distances = DISTANCES[self.distance](sentence, sentence)
        costs = TRIPLET_STRATEGIES[self.strategy](distances, label[:, None] == label[None], self.margin)
        return costs.mean() if len(costs) else 0 * distances.sum()

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        labels, first, counts = np.unique(numbers["label"], return_index=True, return_counts=True)
        if len(labels) < 2 or counts.max() < 2:
            found = f"all are {labels[0]}" if len(labels) < 2 else "each occurs once"
            raise BadInput(f"triplets need at least two labels, one of which occurs twice; in these data, {found}")
        if counts.min() == 1:
            row = int(first[counts == 1][0])
            warnings.warn(
                f"{int((counts == 1).sum())} labels occur once, the first in row {row} ({numbers['label'][row]}); "
                "their texts serve only as negatives",
                stacklevel=3,
            )


def _positive_mask(same: Bool[Tensor, "N N"]) -> Bool[Tensor, "N N"]:
    """Marks pairs of different texts with the same label."""
    return same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)


def _hard_costs(distances: Tensor, same: Tensor, margin: float) -> Tensor:
    positives = _positive_mask(same)
    farthest_positive = distances.masked_fill(~positives, -torch.inf).amax(1)
    nearest_negative = distances.masked_fill(same, torch.inf).amin(1)
    usable = positives.any(1) & ~same.all(1)
    return F.relu(farthest_positive[usable] - nearest_negative[usable] + margin)


def _semi_hard_costs(distances: Tensor, same: Tensor, margin: float) -> Tensor:
    anchors, positives = (_positive_mask(same) & ~same.all(1)[:, None]).nonzero(as_tuple=True)
    to_positive = distances[anchors, positives]
    too_near = same[anchors] | (distances[anchors] <= to_positive[:, None])
    nearest_farther = distances[anchors].masked_fill(too_near, torch.inf).amin(1)
    farthest = distances[anchors].masked_fill(same[anchors], -torch.inf).amax(1)
    return F.relu(to_positive - torch.where(nearest_farther.isinf(), farthest, nearest_farther) + margin)


def _all_costs(distances: Tensor, same: Tensor, margin: float) -> Tensor:
    anchors, positives = _positive_mask(same).nonzero(as_tuple=True)
    costs = F.relu(distances[anchors, positives][:, None] - distances[anchors] + margin)[~same[anchors]]
    return costs[costs > 0]


TRIPLET_STRATEGIES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "hard": _hard_costs,
    "semi-hard": _semi_hard_costs,
    "all": _all_costs,
}
"""Compute the triplets' costs from distances (N, N), a mask of pairs with equal labels (N, N) and the margin."""
