"""What can be trained, an embedder or a reranker: where the loop need not know which, and the places where it must.

The loop itself asks a model for its parameters, its encoder, device and precision, and for train and eval.
"""

from typing import Any, TypeAlias

from ..embedder import Embedder
from ..errors import BadInput
from ..reranker import Reranker
from . import pairwise, step
from .batch import Batch
from .fitting import Took
from .layered import as_read_by
from .objectives import Objective, Reranking

Trainable: TypeAlias = Embedder | Reranker


def fit(model: Trainable, objective: Objective) -> None:
    """Brings the two together: an objective's own weights are made, and what does not go together is refused.

    Raises:
        BadInput: the objective is one for another kind of model.
    """
    if isinstance(model, Reranker):
        pairwise.fit(model, objective)
        return
    if isinstance(objective, Reranking):
        raise BadInput(f"{type(objective).__name__} is for a reranker, and this is an embedder; see OBJECTIVES")
    objective.fit_to(as_read_by(objective, model).width, model.encoder.vocabulary)


def backward(model: Trainable, objective: Objective, batch: Batch, **how: Any) -> Took:
    """Adds a batch's gradient to that of the parameters; `step.backward` says what `how` may be."""
    if isinstance(model, Reranker):
        assert isinstance(objective, Reranking), "fit is called first"
        return pairwise.backward(model, objective, batch, **how)
    return step.backward(model, objective, batch, **how)


def tokens(model: Trainable, objective: Objective, batch: Batch) -> int:
    """How many a step on the batch reads."""
    if isinstance(model, Reranker):
        assert isinstance(objective, Reranking), "fit is called first"
        return pairwise.tokens(model, objective, batch)
    return sum(len(ids) for ids in step.tokenized(model, objective, batch)[0])
