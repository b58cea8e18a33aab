"""Models that can be trained, embedders and rerankers: the few functions of the loop that differ between them.

The loop itself uses a model's parameters, its encoder, device and precision, and its train and eval; what differs is in
the row of the model's kind (`strategies`).
"""

from collections.abc import Sequence
from typing import TypeAlias

from ...engines.torch.torch_embedder import TorchEmbedder
from ...reranker.torch_reranker import TorchReranker
from ..data.batch import Batch
from ..objectives import Objective
from .memory import StepOptions, StepResult
from .processes import Processes
from .strategies import training_strategy

Trainable: TypeAlias = TorchEmbedder | TorchReranker


def model_kind(model: Trainable) -> str:
    """Embedder, CrossEncoder or PolyEncoder, whatever engine computes it."""
    return training_strategy(model).model_name


def check_objective(model: Trainable, objective: Objective) -> None:
    """Fit the objective to the model: create the objective's own weights, and refuse what does not fit."""
    training_strategy(model).check_objective(model, objective)


def backward(model: Trainable, objective: Objective, batch: Batch, options: StepOptions | None = None) -> StepResult:
    """Add a batch's gradient to that of the parameters."""
    return training_strategy(model).backward(model, objective, batch, options)


def join_gradients(model: Trainable, objectives: Sequence[Objective], processes: Processes) -> None:
    """Each gradient becomes that of the joined batch, in all processes.

    Every process has its own part of the model's gradient, so these are summed. Every process has the whole gradient
    of the objectives' own parameters; their mean is used so that they stay equal in all processes (what an objective
    draws at random, or a kernel rounds, may differ). The exception is a cross-encoder, which reads its own rows only:
    there the objectives' gradients are parts too.
    """
    processes.sum_gradients(model.parameters())
    scale = 1 / processes.count if training_strategy(model).whole_objective_gradient else 1.0
    processes.sum_gradients((p for objective in objectives for p in objective.parameters()), scale)


def tokens_per_step(model: Trainable, objective: Objective, batch: Batch) -> int:
    """How many tokens a step on the batch reads."""
    return training_strategy(model).count_tokens(model, objective, batch)
