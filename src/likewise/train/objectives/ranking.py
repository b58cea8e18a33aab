"""Objectives over the order of scores: of any two pairs, that of the larger score is to be the more alike."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ...errors import BadInput
from .labelled_pairs import check_texts_differ, check_varies
from .objective import Columns, Loss, Numbers, Objective, Texts, Vectors, check_not_negative, check_positive


class CoSENT(Objective):
    """`cosent`: every pair that should be more alike than another is to have the larger cosine (Su 2022)."""

    def __init__(self, scale: float = 20.0) -> None:
        super().__init__()
        check_positive(scale=scale)
        self.scale = scale

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        return cosent(sentence1, sentence2, score, self.scale)

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_texts_differ(texts)
        check_varies("score", numbers["score"])


class AnglE(Objective):
    """CoSENT of cosines and of `angles`, added up (Li and Li 2023, AnglE, equations 1 to 7).

    Where cosines saturate, near 1 and −1, angles still have a gradient. The paper's third term, in-batch negatives,
    is `Contrastive`, which reads other columns.

    Args:
        cosine: the weight of the order of cosines.
        angle: the weight of the order of angles.
        cosine_scale: what cosines are multiplied with.
        angle_scale: what angles are multiplied with.
    """

    def __init__(
        self, cosine: float = 1.0, angle: float = 1.0, cosine_scale: float = 20.0, angle_scale: float = 20.0
    ) -> None:
        super().__init__()
        check_positive(cosine_scale=cosine_scale, angle_scale=angle_scale)
        check_not_negative(cosine=cosine, angle=angle)
        if not cosine + angle:
            raise BadInput("cosine and angle, the weights of the two orders, are both 0: there is nothing to learn")
        self.cosine, self.angle = cosine, angle
        self.cosine_scale, self.angle_scale = cosine_scale, angle_scale

    def fit_to(self, width: int, vocabulary: int = 0) -> None:  # noqa: ARG002
        if width % 2:
            raise BadInput(f"angles want pairs of numbers, and the model's vectors have {width}")

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss:
        by_cosine = cosent(sentence1, sentence2, score, self.cosine_scale)
        by_angle = ordered_loss(self.angle_scale * angles(sentence1, sentence2), score)
        return self.cosine * by_cosine + self.angle * by_angle

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_texts_differ(texts)
        check_varies("score", numbers["score"])


def cosent(u: Vectors, v: Vectors, scores: Numbers, scale: float = 20.0) -> Loss:
    """log(1 + Σ exp(scale (cos_j − cos_i))) over the pairs i, j of pairs with score_i > score_j (Su 2022, CoSENT).

    Only the order of the scores matters, as in Spearman's correlation.
    """
    return ordered_loss(scale * F.cosine_similarity(u, v), scores)


def ordered_loss(likeness: Numbers, scores: Numbers) -> Loss:
    """log(1 + Σ exp(l_j − l_i)) over all i, j with score_i > score_j."""
    wrong = (likeness[None] - likeness[:, None]).masked_fill(scores[:, None] <= scores[None], -torch.inf)
    return torch.cat([wrong.new_zeros(1), wrong.flatten()]).logsumexp(0)


def angles(u: Vectors, v: Vectors) -> Numbers:
    """|Re q + Im q| of q = Σ z w̄ / |z||w|, each vector's halves taken as real and imaginary parts of z and w.

    Li and Li 2023, equations 5 and 6, as the authors compute them: larger is more alike, 1 between equal vectors.
    """
    (a, b), (c, d) = (F.normalize(x, dim=1).chunk(2, dim=1) for x in (u, v))
    real: Tensor = a * c + b * d
    imaginary: Tensor = b * c - a * d
    return (real + imaginary).sum(1).abs()
