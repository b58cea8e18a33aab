"""Distillation: a model learns to match a teacher's vectors or scores, which are numeric columns of the training data.

A teacher's vectors form a `Matrix` column of shape (rows, dimension) next to the texts: a NumPy array (memory-mapped if
it is large) or a list of lists.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...array_types import Float
from ...errors import BadInput
from ...runtime.arguments import known_name, whole_number
from .labelled_pairs import check_varies
from .objective import Columns, Loss, Matrix, Numbers, Objective, Texts, Vectors, check_positive

DEFAULT_TEMPERATURE = 0.05  # for softmaxes over cosines


class Distillation(Objective):
    """Mean squared error between the student's and the teacher's vector of a text, or of a text and its translations.

    Training on translations makes a model multilingual (Reimers and Gurevych 2020): the student's vectors of the
    sentence and of each additional text column are all trained towards the teacher's vector of the sentence, and the
    losses are averaged.

    If the teacher's vectors have a different dimension, pass it as `teacher_dimension`: a linear map to it is then
    trained too, and discarded after training.
    """

    def __init__(self, teacher_dimension: int | None = None) -> None:
        super().__init__()
        given = teacher_dimension is not None
        self.teacher_dimension = whole_number("teacher_dimension", teacher_dimension) if given else None
        self.projection: nn.Linear | None = None

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:  # noqa: ARG002
        self.projection = None if self.teacher_dimension is None else nn.Linear(dimension, self.teacher_dimension)

    def forward(self, sentence: Vectors, *translations: Vectors, teacher: Matrix) -> Loss:
        student = torch.stack([v if self.projection is None else self.projection(v) for v in (sentence, *translations)])
        if student.shape[-1] != teacher.shape[-1]:
            raise BadInput(
                f"the teacher's vectors have {teacher.shape[-1]} dimensions and the student's {student.shape[-1]}: set "
                f"teacher_dimension={teacher.shape[-1]} to also train a map between them"
            )
        return (student - teacher).square().mean()


class MarginMSE(Objective):
    """Mean squared error between s(a, p) − s(a, n) and the teacher's `margin` (Hofstätter et al. 2020).

    `similarity` is `"dot"`, as in the paper (its range suits a cross-encoder's scores), or `"cosine"`.
    """

    def __init__(self, similarity: str = "dot") -> None:
        super().__init__()
        self.similarity = known_name("similarity", similarity, ("dot", "cosine"))

    def forward(self, anchor: Vectors, positive: Vectors, negative: Vectors, *, margin: Numbers) -> Loss:
        if self.similarity == "cosine":
            anchor, positive, negative = (F.normalize(x, dim=1) for x in (anchor, positive, negative))
        return F.mse_loss((anchor * (positive - negative)).sum(1), margin)

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_varies("margin", numbers["margin"])


class ScoreDistillation(Objective):
    """KL(teacher ‖ student) of the softmax over a row's candidates: the positive, then the negatives.

    `scores` holds the teacher's score of each candidate, in the order of the columns; a row is one list, as in ListNet
    (Cao et al. 2007; RocketQAv2, Ren et al. 2021).

    The student's cosines are divided by `temperature`, the teacher's scores by `teacher_temperature`.
    """

    def __init__(self, temperature: float = 0.05, teacher_temperature: float = 1.0) -> None:
        super().__init__()
        check_positive(temperature=temperature, teacher_temperature=teacher_temperature)
        self.temperature, self.teacher_temperature = temperature, teacher_temperature

    def forward(self, anchor: Vectors, positive: Vectors, *negatives: Vectors, scores: Matrix) -> Loss:
        student = torch.stack([F.cosine_similarity(anchor, x) for x in (positive, *negatives)], dim=1)
        return kl_divergence(scores / self.teacher_temperature, student / self.temperature)

    def check_rows(self, texts: Texts, numbers: Columns) -> None:
        if len(texts) < 3:
            raise BadInput("a single candidate makes no distribution; expected at least one column of negatives")
        check_scores(texts, numbers["scores"])


class SimilarityDistillation(Objective):
    """Trains the cosines between a batch's texts to match those of a teacher, whose vectors may have any dimension.

    With `"kl"`, each text's cosines with all others form a distribution, and the loss is KL(teacher ‖ student) (Fang et
    al. 2021, SEED). With `"mse"`, the loss is the mean squared difference of the cosines (relational distillation, Park
    et al. 2019).

    With `"kl"`, the student's cosines are divided by `temperature`, the teacher's by `teacher_temperature`.
    """

    def __init__(
        self,
        loss: str = "kl",
        temperature: float = DEFAULT_TEMPERATURE,
        teacher_temperature: float = DEFAULT_TEMPERATURE,
    ) -> None:
        super().__init__()
        known_name("loss", loss, ("kl", "mse"))
        check_positive(temperature=temperature, teacher_temperature=teacher_temperature)
        if loss == "mse" and (temperature, teacher_temperature) != (DEFAULT_TEMPERATURE, DEFAULT_TEMPERATURE):
            raise BadInput(
                f"the temperatures {temperature} and {teacher_temperature} were given, but loss=mse does not use "
                "temperatures; leave them out, or use loss=kl"
            )
        self.loss, self.temperature, self.teacher_temperature = loss, temperature, teacher_temperature

    def forward(self, sentence: Vectors, *, teacher: Matrix) -> Loss:
        student, expected = cosines_with_others(sentence), cosines_with_others(teacher)
        if self.loss == "kl":
            return kl_divergence(expected / self.teacher_temperature, student / self.temperature)
        return (student - expected).square().sum() / max(1, student.numel())


def cosines_with_others(vectors: Float[Tensor, "N W"]) -> Float[Tensor, "N others"]:
    """Each row's N − 1 cosines with all other rows, in order."""
    cosines = F.normalize(vectors, dim=1) @ F.normalize(vectors, dim=1).T
    other = ~torch.eye(len(cosines), dtype=torch.bool, device=cosines.device)
    return cosines[other].view(len(cosines), -1)


def kl_divergence(teacher: Matrix, student: Matrix) -> Loss:
    """The mean over rows of KL(softmax teacher ‖ softmax student)."""
    log_teacher, log_student = teacher.log_softmax(1), student.log_softmax(1)
    return (log_teacher.exp() * (log_teacher - log_student)).sum(1).mean()


def check_scores(texts: Texts, scores: np.ndarray) -> None:
    """Reject a teacher's scores unless there is one per candidate: one for each text except the first."""
    if scores.shape[1] != len(texts) - 1:
        raise BadInput(f"scores has {scores.shape[1]} numbers per row; expected {len(texts) - 1}, one per candidate")
