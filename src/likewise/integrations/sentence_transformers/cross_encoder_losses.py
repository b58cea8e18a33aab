"""The supported cross-encoder losses of sentence-transformers, under their original names."""

from typing import Any

from torch import nn

from ...train.objectives.reranking import PairClassification, PairRegression
from .loading import refused_classes
from .losses import refuse_option

RANKING = "likewise train --kind cross-encoder --objective ranking"
IN_BATCH = f"{RANKING}, with columns of negatives, or --kind poly-encoder --objective in-batch"
REFUSED = {
    **dict.fromkeys(("MultipleNegativesRankingLoss", "CachedMultipleNegativesRankingLoss"), IN_BATCH),
    **dict.fromkeys(("MarginMSELoss", "ADRMSELoss"), f"{RANKING}, with a teacher's scores"),
    **dict.fromkeys(("LambdaLoss", "ListMLELoss", "PListMLELoss"), RANKING),
    "ListNetLoss": f"{RANKING}, with a column per candidate",
    "RankNetLoss": "likewise train --kind cross-encoder --objective margin",
}
"""Maps each unsupported loss to what to use instead."""


class BinaryCrossEntropyLoss(PairRegression):
    """Binary cross-entropy between a pair's logit and its label or its score from 0 to 1."""

    def __init__(self, model: Any, activation_fn: Any = None, pos_weight: Any = None, **options: Any) -> None:  # noqa: ARG002
        super().__init__("bce")
        _check_options(self, activation_fn, options)
        if pos_weight is not None:
            raise refuse_option(self, "pos_weight", pos_weight, "repeat the rows with label 1 instead")


class CrossEntropyLoss(PairClassification):
    """Cross-entropy between a pair's logits and its label."""

    def __init__(self, model: Any, activation_fn: Any = None, **options: Any) -> None:
        super().__init__(model.num_labels)
        _check_options(self, activation_fn, options)


class MSELoss(PairRegression):
    """Squared error between a pair's logit and its target score, such as a teacher's logit."""

    def __init__(self, model: Any, activation_fn: Any = None, **options: Any) -> None:  # noqa: ARG002
        super().__init__("mse")
        _check_options(self, activation_fn, options)


def _check_options(loss: object, activation: Any, options: dict[str, Any]) -> None:
    if not isinstance(activation, nn.Identity | None):
        raise refuse_option(loss, "activation_fn", activation, "leave it out: the loss reads logits")
    for name, value in options.items():
        if value != {"reduction": "mean"}.get(name):
            raise refuse_option(loss, name, value, "leave it out")


__getattr__ = refused_classes(__name__, REFUSED)
