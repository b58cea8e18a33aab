"""Objectives for rerankers: a loss per row, from the logits of its pairs or the scores of all contexts × candidates.

The first text column is paired with each of the others: with a second text, or with the positive and the negatives.
"""

import math
from dataclasses import replace
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F

from ...array_types import Float
from ...errors import BadInput
from ...runtime.arguments import known_name, whole_number
from .contrastive import Contrastive, false_negative_mask
from .distillation import check_scores
from .labelled_pairs import check_labels, check_range, check_varies, scaling
from .objective import (
    Columns,
    InputColumns,
    Labels,
    Matrix,
    Numbers,
    Objective,
    TextIds,
    Texts,
    check_not_negative,
    check_positive,
)

Logits: TypeAlias = Float[Tensor, "N P C"]
"""N rows, each with P pairs (of its first text with each of the others), and C labels per pair."""
AllPairScores: TypeAlias = Float[Tensor, "N M"]
"""Scores of N contexts with all M = N·P candidates of the batch, one text column after another."""
Losses: TypeAlias = Float[Tensor, " N"]


class RerankerObjective(Objective):
    """A loss per row; a batch's loss is their mean, so that rows can be processed in parts of any size.

    >>> class MyObjective(RerankerObjective):
    ...     def forward(self, logits: Logits, *, score: Numbers) -> Losses: ...

    Keyword-only parameters of `forward` are columns, as in any objective; `TEXT_COLUMNS` names the text columns.
    """

    TEXT_COLUMNS: ClassVar[tuple[str, ...]] = ("sentence1", "sentence2")
    MORE_TEXTS: ClassVar[bool] = False  # any number of additional candidate columns
    ALL_PAIRS: ClassVar[bool] = False  # reads `AllPairScores`, which only a poly-encoder computes cheaply

    num_labels: int = 1  # the number of labels that the reranker must have

    def reads(self) -> InputColumns:
        return replace(super().reads(), texts=self.TEXT_COLUMNS, more_texts=self.MORE_TEXTS)


class PairRegression(RerankerObjective):
    """Regression of each pair's score: the logit is divided by `temperature`, then `offset` is subtracted.

    `loss="bce"` is binary cross-entropy between the sigmoid and a score in 0 … 1, with which Sentence-BERT's authors
    train cross-encoders; `"mse"` is squared error, for scores of any range, such as a teacher's logits. The logits of a
    poly-encoder are dot products: large, and all positive.
    """

    def __init__(self, loss: str = "bce", temperature: float = 1.0, offset: float = 0.0) -> None:
        super().__init__()
        check_positive(temperature=temperature)
        if not math.isfinite(offset):
            raise BadInput(f"offset is {offset}; expected a finite number")
        self.loss, self.temperature, self.offset = known_name("loss", loss, ("bce", "mse")), temperature, offset

    def forward(self, logits: Logits, *, score: Numbers) -> Losses:
        predicted = logits[:, 0, 0] / self.temperature - self.offset
        if self.loss == "bce":
            return F.binary_cross_entropy_with_logits(predicted, score, reduction="none")
        return F.mse_loss(predicted, score, reduction="none")

    def check_rows(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        scores = numbers["score"]
        if self.loss == "bce":
            hint = f"loss=bce treats scores as probabilities; rescale with {scaling(scores)}"
            check_range("score", scores, 0, 1, hint)

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_varies("score", numbers["score"])


class PairClassification(RerankerObjective):
    """Cross-entropy of each pair's label, as in natural language inference."""

    def __init__(self, num_labels: int = 3) -> None:
        super().__init__()
        self.num_labels = whole_number("num_labels", num_labels, 2)

    def forward(self, logits: Logits, *, label: Labels) -> Losses:
        return F.cross_entropy(logits[:, 0], label, reduction="none")

    def check_rows(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_labels(numbers["label"], self.num_labels)

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_varies("label", numbers["label"])


class PairMargin(RerankerObjective):
    """The positive's logit should exceed each negative's by a margin: the mean of max(0, margin − (s₊ − s₋))."""

    TEXT_COLUMNS, MORE_TEXTS = ("anchor", "positive"), True

    def __init__(self, margin: float = 1.0) -> None:
        super().__init__()
        check_not_negative(margin=margin)
        self.margin = margin

    def forward(self, logits: Logits) -> Losses:
        scores = logits[..., 0]
        return F.relu(self.margin - scores[:, :1] + scores[:, 1:]).mean(1)

    def check_rows(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_has_negatives(texts)


class PairRanking(RerankerObjective):
    """Cross-entropy of the softmax over a row's candidates, the positive first (ListNet, Cao et al. 2007).

    If `scores` holds a teacher's score for each candidate, in the order of the columns, their softmax is the target.
    Logits are divided by `temperature`, the teacher's scores by `teacher_temperature`.
    """

    TEXT_COLUMNS, MORE_TEXTS = ("anchor", "positive"), True

    def __init__(self, temperature: float = 1.0, teacher_temperature: float = 1.0) -> None:
        super().__init__()
        check_positive(temperature=temperature, teacher_temperature=teacher_temperature)
        self.temperature, self.teacher_temperature = temperature, teacher_temperature

    def forward(self, logits: Logits, *, scores: Matrix | None = None) -> Losses:
        log_probabilities = (logits[..., 0] / self.temperature).log_softmax(1)
        if scores is None:
            return -log_probabilities[:, 0]
        return -((scores / self.teacher_temperature).softmax(1) * log_probabilities).sum(1)

    def check_rows(self, texts: Texts, numbers: Columns) -> None:
        check_has_negatives(texts)
        if "scores" not in numbers and self.teacher_temperature != 1:
            raise BadInput(
                f"teacher_temperature is {self.teacher_temperature}, but the data have no column of teacher scores; "
                "leave it out, or add the column"
            )
        if "scores" in numbers:
            check_scores(texts, numbers["scores"])


class InBatch(RerankerObjective):
    """Each context must identify its candidate among all candidates in the batch (Humeau et al. 2020, section 4.2).

    Every other candidate is a negative, except false negatives as in `Contrastive`. Scores are divided by the
    temperature, which is 1 in the paper.
    """

    TEXT_COLUMNS, MORE_TEXTS, ALL_PAIRS = ("anchor", "positive"), True, True

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        check_positive(temperature=temperature)
        self.temperature = temperature

    def forward(self, scores: AllPairScores, *, text_ids: TextIds, group: Labels | None = None) -> Losses:
        targets = torch.arange(len(scores), device=scores.device)
        masked = scores.masked_fill(false_negative_mask(text_ids, group), -torch.inf)
        return F.cross_entropy(masked / self.temperature, targets, reduction="none")

    def check(self, texts: Texts, numbers: Columns) -> None:
        Contrastive().check(texts, numbers)


def check_has_negatives(texts: Texts) -> None:
    if len(texts) < 3:
        raise BadInput(f"the text columns are {', '.join(texts)}; expected one or more columns of negatives as well")
