"""Objectives over pairs with a label or a score (Reimers and Gurevych 2019, section 3; and contrastive loss)."""

from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from ...errors import BadInput
from .distances import check_distance, paired_distances
from .objective import Columns, Labels, Loss, Numbers, Objective, Texts, Vectors, check_positive

FeatureName = Literal["u", "v", "|u-v|", "u*v"]
FEATURES: dict[str, Any] = {
    "u": lambda u, v: u,  # noqa: ARG005
    "v": lambda u, v: v,  # noqa: ARG005
    "|u-v|": lambda u, v: (u - v).abs(),
    "u*v": lambda u, v: u * v,
}
CONCATENATIONS: tuple[tuple[FeatureName, ...], ...] = (
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
        num_labels: how many classes there are; a label is a whole number from 0.
        concatenation: the features of the two vectors that the classifier reads, of `FEATURES`.
    """

    def __init__(self, num_labels: int = 3, concatenation: tuple[str, ...] = ("u", "v", "|u-v|")) -> None:
        super().__init__()
        if num_labels < 2:
            raise BadInput(f"num_labels is {num_labels}; expected 2 or more")
        if not concatenation or not set(concatenation) <= set(FEATURES):
            raise BadInput(f"concatenation is {'+'.join(concatenation)}; expected some of {', '.join(FEATURES)}")
        self.num_labels, self.concatenation = num_labels, tuple(concatenation)
        self.classifier: nn.Linear | None = None

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:  # noqa: ARG002
        self.classifier = nn.Linear(len(self.concatenation) * dimension, self.num_labels)

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, label: Labels) -> Loss:
        assert self.classifier is not None, "initialize is called first"
        features = torch.cat([FEATURES[name](sentence1, sentence2) for name in self.concatenation], dim=1)
        return F.cross_entropy(self.classifier(features), label)

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_texts_differ(texts)
        check_labels(numbers["label"], self.num_labels)


class Regression(Objective):
    """Mean squared error of cosine(u, v) and a score in −1 … 1, the paper's regression objective."""

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        return F.mse_loss(F.cosine_similarity(sentence1, sentence2), score)

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_texts_differ(texts)
        by = max(5, round(float(numbers["score"].max()), 2))
        hint = f"divide by {by:g}, so that they can be cosines"
        check_range("score", numbers["score"], -1, 1, hint)


class MarginPairs(Objective):
    """½ mean of d² where the label is 1, of max(margin − d, 0)² where it is 0 (Hadsell, Chopra and LeCun 2006).

    Args:
        margin: in units of the distance.
        distance: one of `DISTANCES`.
        online: count hard pairs only: positives farther apart than the batch's nearest negatives, and negatives nearer
            than its farthest positives. A batch with labels of one kind counts in full.
    """

    def __init__(self, margin: float = 0.5, distance: str = "cosine", *, online: bool = False) -> None:
        super().__init__()
        check_positive(margin=margin)
        self.margin, self.distance, self.online = margin, check_distance(distance), online

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, label: Labels) -> Loss:
        distances = paired_distances(sentence1, sentence2, self.distance)
        positive = label == 1
        costs = torch.where(positive, distances, F.relu(self.margin - distances)).square()
        if self.online and positive.any() and not positive.all():
            nearest_negative, farthest_positive = distances[~positive].min(), distances[positive].max()
            costs = costs * torch.where(positive, distances > nearest_negative, distances < farthest_positive)
        return costs.mean() / 2

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_texts_differ(texts)
        check_range("label", numbers["label"], 0, 1, "1 means that the two texts are similar, 0 that they are not")
        check_varies("label", numbers["label"])


def check_labels(labels: np.ndarray, num_labels: int) -> None:
    """Refuse labels outside 0 … num_labels − 1, or all of one class."""
    check_range("label", labels, 0, num_labels - 1, f"there are {num_labels} labels (num_labels=…)")
    check_varies("label", labels)


def check_range(name: str, values: np.ndarray, lowest: float, highest: float, hint: str) -> None:
    """Refuse the first number outside `lowest` … `highest`."""
    bad = np.flatnonzero((values < lowest) | (values > highest))
    if len(bad):
        row = int(bad[0])
        raise BadInput(f"row {row}: {name} is {values[row]:g}; expected {lowest:g} … {highest:g}: {hint}")


def check_varies(name: str, values: np.ndarray) -> None:
    """Refuse a column in which all numbers are equal."""
    if len(values) > 1 and values.min() == values.max():
        raise BadInput(f"every {name} is {values[0]:g}, in all {len(values):,} rows: there is nothing to learn from")


def check_texts_differ(texts: Texts) -> None:
    """Refuse pairs each of which is the same text twice."""
    left, right = texts["sentence1"], texts["sentence2"]
    if all(a == b for a, b in zip(left, right, strict=True)):
        raise BadInput(f"in all {len(left):,} rows both texts are the same, so every cosine is 1 whatever the model")
