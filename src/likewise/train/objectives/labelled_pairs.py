"""Objectives over pairs with a label or a score (Reimers and Gurevych 2019, section 3; and what came before)."""

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
        labels: how many classes there are; a label is a whole number from 0.
        parts: what is laid side by side.
    """

    def __init__(self, labels: int = 3, parts: tuple[str, ...] = ("u", "v", "|u-v|")) -> None:
        super().__init__()
        if labels < 2 or not parts or not set(parts) <= set(FEATURES):
            raise BadInput(
                f"{labels} labels and the parts {' '.join(parts)} were asked for; wanted 2 labels or more, "
                f"and parts of {' '.join(FEATURES)}"
            )
        self.labels, self.parts = labels, tuple(parts)
        self.classifier: nn.Linear | None = None

    def fit_to(self, width: int, vocabulary: int = 0) -> None:  # noqa: ARG002
        self.classifier = nn.Linear(len(self.parts) * width, self.labels)

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, label: Labels) -> Loss:
        assert self.classifier is not None, "fit_to is called first"
        seen = torch.cat([FEATURES[part](sentence1, sentence2) for part in self.parts], dim=1)
        return F.cross_entropy(self.classifier(seen), label)

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_texts_differ(texts)
        check_range("label", numbers["label"], 0, self.labels - 1, f"there are {self.labels} labels (labels=…)")
        check_varies("label", numbers["label"])


class Regression(Objective):
    """Mean squared error of cosine(u, v) and a score in −1 … 1, the paper's regression objective."""

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        return F.mse_loss(F.cosine_similarity(sentence1, sentence2), score)

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_texts_differ(texts)
        largest = numbers["score"].max()
        hint = f"divide by {5 if largest <= 5 else round(float(largest), 2):g}, so that they can be cosines"
        check_range("score", numbers["score"], -1, 1, hint)


class MarginPairs(Objective):
    """½ mean of d² where the label is 1, of max(margin − d, 0)² where it is 0 (Hadsell, Chopra and LeCun 2006).

    Args:
        margin: in units of the distance.
        distance: one of `DISTANCES`.
        online: only hard pairs count: alike ones farther apart than the batch's nearest unlike ones, and unlike ones
            nearer than its farthest alike ones. A batch that holds one kind only counts whole.
    """

    def __init__(self, margin: float = 0.5, distance: str = "cosine", *, online: bool = False) -> None:
        super().__init__()
        check_positive(margin=margin)
        self.margin, self.distance, self.online = margin, check_distance(distance), online

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, label: Labels) -> Loss:
        apart = paired_distances(sentence1, sentence2, self.distance)
        alike = label == 1
        costs = torch.where(alike, apart, F.relu(self.margin - apart)).square()
        if self.online and alike.any() and not alike.all():
            hard = torch.where(alike, apart > apart[~alike].min(), apart < apart[alike].max())
            costs = costs * hard
        return costs.mean() / 2

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_texts_differ(texts)
        check_range("label", numbers["label"], 0, 1, "1 says that the two are alike, 0 that they are not")
        check_varies("label", numbers["label"])


def check_range(name: str, values: np.ndarray, least: float, most: float, hint: str) -> None:
    """Refuses the first number outside `least` … `most`."""
    bad = np.flatnonzero((values < least) | (values > most))
    if len(bad):
        row = int(bad[0])
        raise BadInput(f"row {row}: {name} is {values[row]:g}; wanted {least:g} … {most:g}: {hint}")


def check_varies(name: str, values: np.ndarray) -> None:
    """Refuses a column in which all numbers are one."""
    if len(values) > 1 and values.min() == values.max():
        raise BadInput(f"every {name} is {values[0]:g}, in all {len(values):,} rows: there is nothing to tell apart")


def check_texts_differ(texts: Texts) -> None:
    """Refuses pairs of which every one is the same text twice."""
    left, right = texts["sentence1"], texts["sentence2"]
    if all(a == b for a, b in zip(left, right, strict=True)):
        raise BadInput(f"in all {len(left):,} rows both texts are the same, so every cosine is 1 whatever is learned")
