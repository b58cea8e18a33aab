"""Objectives over pairs with a label or a score (Reimers and Gurevych 2019, section 3; and contrastive loss)."""

import math
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...errors import BadInput, BadRow
from ...runtime.arguments import known_name, whole_number
from .objective import Columns, Labels, Loss, Numbers, Objective, Texts, Vectors, check_not_negative, check_positive
from .triplets import DISTANCES, paired_distances

DEFAULT_SCALE = 20.0  # factor for cosines in CoSENT
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
"""The seven concatenations in the paper's ablation (Table 6)."""


class Classification(Objective):
    """Cross-entropy of softmax(W (u, v, |u − v|)); `concatenation` lists the `FEATURES` that W reads."""

    def __init__(self, num_labels: int = 3, concatenation: tuple[str, ...] = ("u", "v", "|u-v|")) -> None:
        super().__init__()
        if not concatenation or not set(concatenation) <= set(FEATURES):
            raise BadInput(f"concatenation is {'+'.join(concatenation)}; expected one or more of {', '.join(FEATURES)}")
        self.num_labels, self.concatenation = whole_number("num_labels", num_labels, 2), tuple(concatenation)
        self.classifier: nn.Linear | None = None

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:  # noqa: ARG002
        self.classifier = nn.Linear(len(self.concatenation) * dimension, self.num_labels)

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, label: Labels) -> Loss:
        assert self.classifier is not None, "initialize must be called first"
        features = torch.cat([FEATURES[name](sentence1, sentence2) for name in self.concatenation], dim=1)
        return F.cross_entropy(self.classifier(features), label)

    def check_rows(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_labels(numbers["label"], self.num_labels)

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_varies("label", numbers["label"])


class Regression(Objective):
    """Mean squared error between cosine(u, v) and a score in −1 … 1, the paper's regression objective."""

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        return F.mse_loss(F.cosine_similarity(sentence1, sentence2), score)

    def check_rows(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_range("score", numbers["score"], -1, 1, f"the range of cosines; rescale with {scaling(numbers['score'])}")


class MarginPairs(Objective):
    """½ mean of d² for label 1 and of max(margin − d, 0)² for label 0 (Hadsell, Chopra and LeCun 2006).

    `online` uses only hard pairs: positives farther apart than the batch's nearest negatives, and negatives nearer than
    the batch's farthest positives. If all labels in a batch are equal, the whole batch is used.
    """

    def __init__(self, margin: float = 0.5, distance: str = "cosine", *, online: bool = False) -> None:
        super().__init__()
        check_positive(margin=margin)
        self.margin, self.distance, self.online = margin, known_name("distance", distance, DISTANCES), online

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, label: Labels) -> Loss:
        distances = paired_distances(sentence1, sentence2, self.distance)
        positive = label == 1
        costs = torch.where(positive, distances, F.relu(self.margin - distances)).square()
        if self.online and positive.any() and not positive.all():
            nearest_negative, farthest_positive = distances[~positive].min(), distances[positive].max()
            costs = costs * torch.where(positive, distances > nearest_negative, distances < farthest_positive)
        return costs.mean() / 2

    def check_rows(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_range("label", numbers["label"], 0, 1, "1 means that the two texts are similar, 0 that they are not")

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_varies("label", numbers["label"])


class CoSENT(Objective):
    """CoSENT (Su 2022): of any two pairs, the one with the higher score should have the larger cosine."""

    def __init__(self, scale: float = DEFAULT_SCALE) -> None:
        super().__init__()
        check_positive(scale=scale)
        self.scale = scale

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        return cosent(sentence1, sentence2, score, self.scale)

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_varies("score", numbers["score"])


class AnglE(Objective):
    """The weighted sum of CoSENT over cosines and over `angles` (Li and Li 2023, AnglE, equations 1 to 7).

    Near 1 and −1, where cosines saturate, angles still have a gradient. The paper's third term, in-batch negatives,
    is `Contrastive`, which reads different columns.

    Each term is multiplied by its weight, and its cosines or angles by its scale.
    """

    def __init__(
        self,
        cosine_weight: float = 1.0,
        angle_weight: float = 1.0,
        cosine_scale: float = DEFAULT_SCALE,
        angle_scale: float = DEFAULT_SCALE,
    ) -> None:
        super().__init__()
        check_positive(cosine_scale=cosine_scale, angle_scale=angle_scale)
        check_not_negative(cosine_weight=cosine_weight, angle_weight=angle_weight)
        if not cosine_weight + angle_weight:
            raise BadInput("cosine_weight and angle_weight are both 0: there is nothing to learn")
        for term, weight, scale in (("cosine", cosine_weight, cosine_scale), ("angle", angle_weight, angle_scale)):
            if not weight and scale != DEFAULT_SCALE:
                raise BadInput(f"{term}_scale is {scale}, but {term}_weight=0 does not use it; leave it out")
        self.cosine_weight, self.angle_weight = cosine_weight, angle_weight
        self.cosine_scale, self.angle_scale = cosine_scale, angle_scale

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:  # noqa: ARG002
        if dimension % 2:
            raise BadInput(
                f"AnglE needs vectors with an even dimension; the model's vectors have {dimension} dimensions"
            )

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        by_cosine = cosent(sentence1, sentence2, score, self.cosine_scale)
        by_angle = ordered_loss(self.angle_scale * angles(sentence1, sentence2), score)
        return self.cosine_weight * by_cosine + self.angle_weight * by_angle

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_varies("score", numbers["score"])


def cosent(u: Vectors, v: Vectors, scores: Numbers, scale: float) -> Loss:
    """log(1 + Σ exp(scale (cos_j − cos_i))) over all i, j with score_i > score_j (Su 2022, CoSENT).

    Only the order of the scores matters, as in Spearman's correlation.
    """
    return ordered_loss(scale * F.cosine_similarity(u, v), scores)


def ordered_loss(similarities: Numbers, scores: Numbers) -> Loss:
    """log(1 + Σ exp(s_j − s_i)) of similarities s, over all i, j with score_i > score_j."""
    wrong = (similarities[None] - similarities[:, None]).masked_fill(scores[:, None] <= scores[None], -torch.inf)
    return torch.cat([wrong.new_zeros(1), wrong.flatten()]).logsumexp(0)


def angles(u: Vectors, v: Vectors) -> Numbers:
    """|Re q + Im q| for q = Σ z w̄ / |z||w|; each vector's halves are the real and imaginary parts of z and w.

    This is Li and Li 2023, equations 5 and 6, as implemented by the authors; larger means more similar. The result is 1
    for equal and for opposite vectors, and at most √2, which is reached if each z is an eighth of a turn from its w.
    """
    (a, b), (c, d) = (F.normalize(x, dim=1).chunk(2, dim=1) for x in (u, v))
    real: Tensor = a * c + b * d
    imaginary: Tensor = b * c - a * d
    return (real + imaginary).sum(1).abs()


def check_labels(labels: np.ndarray, num_labels: int) -> None:
    check_range("label", labels, 0, num_labels - 1, f"the objective has {num_labels} labels (num_labels=…)")


def scaling(scores: np.ndarray) -> str:
    """The --columns option that divides scores so that none exceeds 1, for error messages."""
    divided = f"score/{max(5, math.ceil(100 * float(scores.max())) / 100):g}"
    return f'--columns score={divided}, or ColumnNames({{"score": "{divided}"}})'


def check_range(name: str, values: np.ndarray, lowest: float, highest: float, hint: str) -> None:
    bad = np.flatnonzero((values < lowest) | (values > highest))
    if len(bad):
        row = int(bad[0])
        raise BadRow(row, f"{name} is {values[row]:g}; expected {lowest:g} … {highest:g}: {hint}")


def check_varies(name: str, values: np.ndarray) -> None:
    if len(values) > 1 and values.min() == values.max():
        raise BadInput(f"{name} is {values[0]:g} in all {len(values):,} rows, so there is nothing to learn from")
