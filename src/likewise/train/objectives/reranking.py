"""Objectives of rerankers: a loss for every row, of the logits of its pairs; or of all contexts with all candidates.

The first column of texts is read with each of the others: a pair's second text, or the positive and then negatives.
"""

import math
from dataclasses import replace
from typing import ClassVar, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ...errors import BadInput
from .contrastive import Contrastive, false_negative_mask
from .labelled_pairs import check_range, check_varies
from .objective import Columns, InputColumns, Labels, Matrix, Numbers, Objective, TextIds, Texts, check_positive

Logits: TypeAlias = Float[Tensor, "N P C"]
"""Of N rows, each the P pairs of its first text with the others, C labels a pair."""
AllPairScores: TypeAlias = Float[Tensor, "N M"]
"""Of N contexts with all M = N·P candidates of the batch, column after column of texts."""
Losses: TypeAlias = Float[Tensor, " N"]


class RerankerObjective(Objective):
    """A loss for every row; that of a batch is their mean, so that rows can be worked off in any pieces.

    >>> class Mine(Reranking):
    ...     def forward(self, logits: Logits, *, score: Numbers) -> Losses: ...

    Keyword-only parameters of `forward` are columns, as those of any objective; `TEXTS` names the columns of texts.
    """

    TEXTS: ClassVar[tuple[str, ...]] = ("sentence1", "sentence2")
    MORE: ClassVar[bool] = False  # any number of further columns of candidates
    CROSSED: ClassVar[bool] = False  # reads `AllPairScores` scores, which only a poly-encoder gives cheaply

    labels: int = 1
    """How many labels the reranker is to have."""

    def reads(self) -> InputColumns:
        return replace(super().reads(), texts=self.TEXTS, more_texts=self.MORE)


class PairRegression(RerankerObjective):
    """The score of each pair.

    Args:
        loss: `"bce"`: binary cross-entropy of sigmoid(logit) and a score in 0 … 1, as Sentence-BERT's authors train
            cross-encoders; `"mse"`: squared error of the logit itself, of scores of any range (a teacher's logits).
        temperature: logits are divided by it; a poly-encoder's are dot products, and large.
        offset: what is then taken off; a poly-encoder's are all positive, and a sigmoid of those is never below ½.
    """

    def __init__(self, loss: str = "bce", temperature: float = 1.0, offset: float = 0.0) -> None:
        super().__init__()
        if loss not in ("bce", "mse"):
            raise BadInput(f"loss is {loss!r}; wanted bce or mse")
        check_positive(temperature=temperature)
        if not math.isfinite(offset):
            raise BadInput(f"offset is {offset}; wanted a finite number")
        self.loss, self.temperature, self.offset = loss, temperature, offset

    def forward(self, logits: Logits, *, score: Numbers) -> Losses:
        found = logits[:, 0, 0] / self.temperature - self.offset
        if self.loss == "bce":
            return F.binary_cross_entropy_with_logits(found, score, reduction="none")
        return F.mse_loss(found, score, reduction="none")

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        scores = numbers["score"]
        if self.loss == "bce":
            largest = float(scores.max())
            by = 5 if largest <= 5 else round(largest, 2)
            check_range(
                "score", scores, 0, 1, f"bce reads them as probabilities; divide by {by:g}, say (score=score/{by:g})"
            )
        check_varies("score", scores)


class PairClassification(RerankerObjective):
    """Cross-entropy of the label of each pair, natural language inference say.

    Args:
        labels: how many classes there are; a label is a whole number from 0.
    """

    def __init__(self, labels: int = 3) -> None:
        super().__init__()
        if labels < 2:
            raise BadInput(f"{labels} labels were asked for; wanted 2 or more (one number a pair is a regression)")
        self.labels = labels

    def forward(self, logits: Logits, *, label: Labels) -> Losses:
        return F.cross_entropy(logits[:, 0], label, reduction="none")

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_range("label", numbers["label"], 0, self.labels - 1, f"there are {self.labels} labels (labels=…)")
        check_varies("label", numbers["label"])


class PairMargin(RerankerObjective):
    """The positive is to score higher than each negative by a margin: the mean of max(0, margin − (s₊ − s₋)).

    Args:
        margin: in logits.
    """

    TEXTS, MORE = ("anchor", "positive"), True

    def __init__(self, margin: float = 1.0) -> None:
        super().__init__()
        if not 0 <= margin < math.inf:
            raise BadInput(f"margin is {margin}; wanted a number of 0 or more")
        self.margin = margin

    def forward(self, logits: Logits) -> Losses:
        scores = logits[..., 0]
        return F.relu(self.margin - scores[:, :1] + scores[:, 1:]).mean(1)

    def check(self, texts: Texts, numbers: Columns) -> None:  # noqa: ARG002
        check_has_negatives(texts)


class PairRanking(RerankerObjective):
    """Cross-entropy of the softmax over a row's candidates, the positive first (ListNet, Cao et al. 2007).

    With `scores`, a teacher's of each candidate in the order of the columns, their softmax is what is to be found.

    Args:
        temperature: logits are divided by it.
        teacher_temperature: the teacher's scores are divided by it.
    """

    TEXTS, MORE = ("anchor", "positive"), True

    def __init__(self, temperature: float = 1.0, teacher_temperature: float = 1.0) -> None:
        super().__init__()
        check_positive(temperature=temperature, teacher_temperature=teacher_temperature)
        self.temperature, self.teacher_temperature = temperature, teacher_temperature

    def forward(self, logits: Logits, *, scores: Matrix | None = None) -> Losses:
        found = (logits[..., 0] / self.temperature).log_softmax(1)
        if scores is None:
            return -found[:, 0]
        return -((scores / self.teacher_temperature).softmax(1) * found).sum(1)

    def check(self, texts: Texts, numbers: Columns) -> None:
        check_has_negatives(texts)
        if "scores" not in numbers and self.teacher_temperature != 1:
            raise BadInput(
                f"teacher_temperature is {self.teacher_temperature}, and the rows have no column scores of a teacher "
                "that it could divide"
            )
        if "scores" in numbers and numbers["scores"].shape[1] != len(texts) - 1:
            found = numbers["scores"].shape[1]
            raise BadInput(f"scores has {found} numbers a row; wanted {len(texts) - 1}, one a candidate")


class InBatch(RerankerObjective):
    """Each context is to find its candidate among all of the batch (Humeau et al. 2020, section 4.2).

    Every other candidate is a wrong answer, except what `Contrastive` leaves out too: the context's own text, and any
    text that stands as a positive beside the same context, or beside one of the same `group`, in any row.

    Args:
        temperature: scores are divided by it; the paper's is 1.
    """

    TEXTS, MORE, CROSSED = ("anchor", "positive"), True, True

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        check_positive(temperature=temperature)
        self.temperature = temperature

    def forward(self, scores: AllPairScores, *, names: TextIds, group: Labels | None = None) -> Losses:
        right = torch.arange(len(scores), device=scores.device)
        masked = scores.masked_fill(false_negative_mask(names, group), -torch.inf)
        return F.cross_entropy(masked / self.temperature, right, reduction="none")

    def check(self, texts: Texts, numbers: Columns) -> None:
        Contrastive().check(texts, numbers)


RERANKER_OBJECTIVES: dict[str, type[RerankerObjective]] = {
    "regression": PairRegression,
    "classification": PairClassification,
    "margin": PairMargin,
    "ranking": PairRanking,
    "in-batch": InBatch,
}
"""What rerankers are trained with, for `objective_of(spec, RERANKING)`; a name means what it means to an embedder."""


def check_has_negatives(texts: Texts) -> None:
    """Refuses rows without a wrong answer."""
    if len(texts) < 3:
        raise BadInput(f"rows have {', '.join(texts)}; wanted one column of negatives or more beside them")
