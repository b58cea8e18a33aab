"""Distillation: a model learns from another's vectors or scores, which arrive as columns of numbers.

A teacher's vectors are a `Matrix` column, (rows, width): a NumPy array (memory-mapped from a file, if it is large) or
a list of lists beside the texts.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ...errors import BadInput
from .labelled_pairs import check_varies
from .objective import Columns, Loss, Matrix, Numbers, Objective, Texts, Vectors, check_positive

DEFAULT_TEMPERATURE = 0.05  # the temperature of cosines, where none is given


class Distillation(Objective):
    """Mean squared error between a text's vector and its teacher's; translations are to have that vector as well.

    With translations it makes a model multilingual (Reimers and Gurevych 2020): the student's vectors of the sentence
    and of each further column are drawn to the teacher's vector of the sentence, and the mean is taken.

    Args:
        width: of the teacher's vectors, where they are not as wide as the student's: a linear map of the student's
            vectors to theirs is then trained along, and left behind.
    """

    def __init__(self, width: int | None = None) -> None:
        super().__init__()
        if width is not None and width < 1:
            raise BadInput(f"width is {width}; wanted that of the teacher's vectors, 1 or more")
        self.width = width
        self.map: nn.Linear | None = None

    def fit_to(self, width: int, vocabulary: int = 0) -> None:  # noqa: ARG002
        self.map = None if self.width is None else nn.Linear(width, self.width)

    def forward(self, sentence: Vectors, *translations: Vectors, teacher: Matrix) -> Loss:
        found = torch.stack([v if self.map is None else self.map(v) for v in (sentence, *translations)])
        if found.shape[-1] != teacher.shape[-1]:
            raise BadInput(
                f"the teacher's vectors have {teacher.shape[-1]} numbers and the student's {found.shape[-1]}: give "
                f"width={teacher.shape[-1]}, and a map between them is trained along"
            )
        return (found - teacher).square().mean()


class MarginMSE(Objective):
    """Mean squared error of s(a, p) − s(a, n) and the teacher's `margin` (Hofstätter et al. 2020).

    Args:
        similarity: `"dot"`, the paper's, whose range suits a cross-encoder's scores, or `"cosine"`.
    """

    def __init__(self, similarity: str = "dot") -> None:
        super().__init__()
        if similarity not in ("dot", "cosine"):
            raise BadInput(f"similarity is {similarity!r}; wanted dot or cosine")
        self.similarity = similarity

    def forward(self, anchor: Vectors, positive: Vectors, negative: Vectors, *, margin: Numbers) -> Loss:
        if self.similarity == "cosine":
            anchor, positive, negative = (F.normalize(x, dim=1) for x in (anchor, positive, negative))
        return F.mse_loss((anchor * (positive - negative)).sum(1), margin)

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_varies("margin", numbers["margin"])


class ScoreDistillation(Objective):
    """KL(teacher ‖ student) of the softmax over a row's candidates: the positive, then the negatives.

    `scores` holds the teacher's score of each candidate, in the order of the columns; a row is a list as in ListNet
    (Cao et al. 2007; RocketQAv2, Ren et al. 2021).

    Args:
        temperature: the student's cosines are divided by it.
        teacher_temperature: the teacher's scores are divided by it.
    """

    def __init__(self, temperature: float = 0.05, teacher_temperature: float = 1.0) -> None:
        super().__init__()
        check_positive(temperature=temperature, teacher_temperature=teacher_temperature)
        self.temperature, self.teacher_temperature = temperature, teacher_temperature

    def forward(self, anchor: Vectors, positive: Vectors, *negatives: Vectors, scores: Matrix) -> Loss:
        student = torch.stack([F.cosine_similarity(anchor, x) for x in (positive, *negatives)], dim=1)
        return kl_divergence(scores / self.teacher_temperature, student / self.temperature)

    def check(self, texts: Texts, numbers: Columns) -> None:
        wanted = len(texts) - 1
        if wanted < 2:
            raise BadInput("a positive alone is no distribution; wanted one column of negatives or more")
        if numbers["scores"].shape[1] != wanted:
            raise BadInput(f"scores has {numbers['scores'].shape[1]} numbers a row; wanted {wanted}, one a candidate")


class SimilarityDistillation(Objective):
    """Cosines between the texts of a batch are to be those between the teacher's vectors, of whatever width.

    With `"kl"`, each text's cosines with all others are a distribution, and the loss is KL(teacher ‖ student) (Fang et
    al. 2021, SEED); with `"mse"`, their mean squared difference (relational distillation, Park et al. 2019).

    Args:
        measure: `"kl"` or `"mse"`.
        temperature: the student's cosines are divided by it, under `"kl"`.
        teacher_temperature: and the teacher's.
    """

    def __init__(
        self,
        measure: str = "kl",
        temperature: float = DEFAULT_TEMPERATURE,
        teacher_temperature: float = DEFAULT_TEMPERATURE,
    ) -> None:
        super().__init__()
        if measure not in ("kl", "mse"):
            raise BadInput(f"measure is {measure!r}; wanted kl or mse")
        check_positive(temperature=temperature, teacher_temperature=teacher_temperature)
        if measure == "mse" and (temperature, teacher_temperature) != (DEFAULT_TEMPERATURE, DEFAULT_TEMPERATURE):
            raise BadInput(
                "the temperatures are of the distributions of measure=kl; under measure=mse nothing reads them, and "
                f"{temperature} and {teacher_temperature} were given"
            )
        self.measure, self.temperature, self.teacher_temperature = measure, temperature, teacher_temperature

    def forward(self, sentence: Vectors, *, teacher: Matrix) -> Loss:
        ours, theirs = cosines_with_others(sentence), cosines_with_others(teacher)
        if self.measure == "kl":
            return kl_divergence(theirs / self.teacher_temperature, ours / self.temperature)
        return (ours - theirs).square().sum() / max(1, ours.numel())


def cosines_with_others(vectors: Float[Tensor, "N W"]) -> Float[Tensor, "N others"]:
    """Each row's cosines with all other rows, in their order; N − 1 of them."""
    cosines = F.normalize(vectors, dim=1) @ F.normalize(vectors, dim=1).T
    other = ~torch.eye(len(cosines), dtype=torch.bool, device=cosines.device)
    return cosines[other].view(len(cosines), -1)


def kl_divergence(teacher: Matrix, student: Matrix) -> Loss:
    """The mean over rows of KL(softmax teacher ‖ softmax student)."""
    wanted, found = teacher.log_softmax(1), student.log_softmax(1)
    return (wanted.exp() * (wanted - found)).sum(1).mean()
