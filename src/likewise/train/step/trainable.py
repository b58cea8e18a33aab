"""What can be trained, an embedder or a reranker: where the loop need not know which, and the places where it must.

The loop itself asks a model for its parameters, its encoder, device and precision, and for train and eval.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput
from ...reranker import CrossEncoder, Reranker
from ..data.batch import Batch
from ..layers.multi_layer import embedder_for_objective
from ..objectives import Objective, RerankerObjective
from . import embedder_step, reranker_step
from .memory import StepResult
from .processes import Processes

Trainable: TypeAlias = TorchEmbedder | Reranker


def check_objective(model: Trainable, objective: Objective) -> None:
    """Brings the two together: an objective's own weights are made, and what does not go together is refused.

    Raises:
        BadInput: the objective is one for another kind of model.
    """
    if isinstance(model, Reranker):
        reranker_step.check_reranker_objective(model, objective)
        return
    if isinstance(objective, RerankerObjective):
        raise BadInput(f"{type(objective).__name__} is for a reranker, and this is an embedder; see OBJECTIVES")
    objective.initialize(embedder_for_objective(objective, model).width, model.encoder.vocabulary)


def backward(model: Trainable, objective: Objective, batch: Batch, **how: Any) -> StepResult:
    """Adds a batch's gradient to that of the parameters; `step.backward` says what `how` may be."""
    if isinstance(model, Reranker):
        assert isinstance(objective, RerankerObjective), "fit is called first"
        return reranker_step.reranker_backward(model, objective, batch, **how)
    return embedder_step.embedder_backward(model, objective, batch, **how)


def join_gradients(model: Trainable, objectives: Sequence[Objective], processes: Processes) -> None:
    """Each gradient becomes that of the joined batch, in all processes.

    Of the model every process has its own part, so the parts are added up. Of the objectives' own parameters every
    process has the whole, whose mean is taken so that they stay one (what an objective draws, or a kernel rounds, may
    differ); except beside a cross-encoder, which reads its own rows alone, so that these are parts too.
    """
    processes.add_up(model.parameters())
    share = 1.0 if isinstance(model, CrossEncoder) else 1 / processes.count
    processes.add_up((p for objective in objectives for p in objective.parameters()), share)


def tokenized_columns(model: Trainable, objective: Objective, batch: Batch) -> int:
    """How many a step on the batch reads."""
    if isinstance(model, Reranker):
        assert isinstance(objective, RerankerObjective), "fit is called first"
        return reranker_step.reranker_tokens(model, objective, batch)
    return sum(len(ids) for ids in embedder_step.tokenized(model, objective, batch)[0])
