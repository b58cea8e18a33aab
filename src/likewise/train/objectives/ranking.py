"""Objectives over the order of scores: of any two pairs, the one with the higher score has the higher similarity."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ...errors import BadInput
from .labelled_pairs import check_texts_differ, check_varies
from .objective import Columns, Loss, Numbers, Objective, Texts, Vectors, check_not_negative, check_positive

DEFAULT_SCALE = 20.0


class CoSENT(Objective):
    """Of any two pairs, the one with the higher score has the larger cosine: `cosent` (Su 2022).

    Args:
        scale: cosines are multiplied by it.
    """

    def __init__(self, scale: float = DEFAULT_SCALE) -> None:
        super().__init__()
        check_positive(scale=scale)
        self.scale = scale

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        return cosent(sentence1, sentence2, score, self.scale)

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_texts_differ(texts)
        check_varies("score", numbers["score"])


class AnglE(Objective):
    """The weighted sum of CoSENT of cosines and of `angles` (Li and Li 2023, AnglE, equations 1 to 7).

    Where cosines saturate, near 1 and −1, angles still have a gradient. The paper's third term, in-batch negatives,
    is `Contrastive`, which reads other columns.

    Args:
        cosine_weight: the weight of the loss over cosines.
        angle_weight: the weight of the loss over angles.
        cosine_scale: cosines are multiplied by it.
        angle_scale: angles are multiplied by it.
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
            raise BadInput(f"AnglE needs vectors of an even dimension, and the model's have {dimension} numbers")

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        by_cosine = cosent(sentence1, sentence2, score, self.cosine_scale)
        by_angle = ordered_loss(self.angle_scale * angles(sentence1, sentence2), score)
        return self.cosine_weight * by_cosine + self.angle_weight * by_angle

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_texts_differ(texts)
        check_varies("score", numbers["score"])


def cosent(u: Vectors, v: Vectors, scores: Numbers, scale: float = 20.0) -> Loss:
    """log(1 + Σ exp(scale (cos_j − cos_i))) over the pairs i, j of pairs with score_i > score_j (Su 2022, CoSENT).

    Only the order of the scores matters, as in Spearman's correlation.
    """
    return ordered_loss(scale * F.cosine_similarity(u, v), scores)


def ordered_loss(similarities: Numbers, scores: Numbers) -> Loss:
    """log(1 + Σ exp(s_j − s_i)) of similarities s, over all i, j with score_i > score_j."""
    wrong = (similarities[None] - similarities[:, None]).masked_fill(scores[:, None] <= scores[None], -torch.inf)
    return torch.cat([wrong.new_zeros(1), wrong.flatten()]).logsumexp(0)


def angles(u: Vectors, v: Vectors) -> Numbers:
    """|Re q + Im q| of q = Σ z w̄ / |z||w|, each vector's halves as real and imaginary parts of z and w.

    Li and Li 2023, equations 5 and 6, as the authors compute them and take larger for more similar. It is 1 between
    equal vectors and between opposite ones, and √2 at most, where each z is an eighth of a turn from its w.
    """
    (a, b), (c, d) = (F.normalize(x, dim=1).chunk(2, dim=1) for x in (u, v))
    real: Tensor = a * c + b * d
    imaginary: Tensor = b * c - a * d
    return (real + imaginary).sum(1).abs()
