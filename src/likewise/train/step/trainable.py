"""Models that can be trained, embedders and rerankers: the few functions of the loop that differ between them.

The loop itself uses a model's parameters, its encoder, device and precision, and its train and eval.
"""

from collections.abc import Sequence
from typing import TypeAlias

from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput
from ...reranker import CrossEncoder, Reranker
from ..data.batch import Batch
from ..layers.multi_layer import embedder_for_objective
from ..objectives import Objective, RerankerObjective
from . import embedder_step, reranker_step
from .memory import StepOptions, StepResult
from .processes import Processes

Trainable: TypeAlias = TorchEmbedder | Reranker


def model_kind(model: Trainable) -> str:
    """Embedder, CrossEncoder or PolyEncoder, whatever engine computes it."""
    return type(model).__name__ if isinstance(model, Reranker) else "Embedder"


def check_objective(model: Trainable, objective: Objective) -> None:
    """Fit the objective to the model: create the objective's own weights, and refuse what does not fit.

    Raises:
        BadInput: the objective is for another kind of model.
    """
    if isinstance(model, Reranker):
        reranker_step.check_reranker_objective(model, objective)
        return
    if isinstance(objective, RerankerObjective):
        raise BadInput(f"{type(objective).__name__} is for a reranker, and this is an embedder; see OBJECTIVES")
    objective.initialize(embedder_for_objective(objective, model).width, model.encoder.vocabulary)


def backward(model: Trainable, objective: Objective, batch: Batch, options: StepOptions | None = None) -> StepResult:
    """Add a batch's gradient to that of the parameters."""
    if isinstance(model, Reranker):
        assert isinstance(objective, RerankerObjective), "check_objective is called first"
        return reranker_step.reranker_backward(model, objective, batch, options)
    return embedder_step.embedder_backward(model, objective, batch, options)


def join_gradients(model: Trainable, objectives: Sequence[Objective], processes: Processes) -> None:
    """Each gradient becomes that of the joined batch, in all processes.

    Every process has its own part of the model's gradient, so these are summed. Every process has the whole gradient
    of the objectives' own parameters; their mean is used so that they stay equal in all processes (what an objective
    draws at random, or a kernel rounds, may differ). The exception is a cross-encoder, which reads its own rows only:
    there the objectives' gradients are parts too.
    """
    processes.sum_gradients(model.parameters())
    scale = 1.0 if isinstance(model, CrossEncoder) else 1 / processes.count
    processes.sum_gradients((p for objective in objectives for p in objective.parameters()), scale)


def tokens_per_step(model: Trainable, objective: Objective, batch: Batch) -> int:
    """How many tokens a step on the batch reads."""
    if isinstance(model, Reranker):
        assert isinstance(objective, RerankerObjective), "check_objective is called first"
        return reranker_step.reranker_tokens(model, objective, batch)
    return sum(len(ids) for ids in embedder_step.tokenized_batch(model, objective, batch)[0])
