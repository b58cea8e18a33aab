"""What training does differently for each kind of model: the rows of `TRAINING_STRATEGIES`, by the model's `kind`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...errors import BadInput
from ..data.batch import Batch
from ..objectives import Objective
from ..teachers import EMBEDDER_TEACHER, RERANKER_TEACHER, TeacherStrategy
from . import embedder_step, reranker_step
from .memory import StepOptions, StepResult


@dataclass(frozen=True)
class ModelDescription:
    """How a model of one kind is described."""

    record: Callable[[Any], dict[str, Any]]
    """What run.json has of it, beside kind, fingerprint and maximum length."""
    output: Callable[[Any], str]
    """What it computes of a text or of a pair of texts."""
    pieces: Callable[[Any, Sequence[str]], list[list[str]]]
    """The word pieces that it reads of each text; a cross-encoder truncates pairs that are too long further."""


@dataclass(frozen=True)
class TrainingStrategy:
    """How models of one kind are trained, and how they teach others."""

    model_name: str
    """What records call such a model, whatever engine computes it."""
    check_objective: Callable[[Any, Objective], None]
    """Fits an objective to the model, or refuses it."""
    backward: Callable[[Any, Objective, Batch, StepOptions | None], StepResult]
    """Adds a batch's gradient."""
    count_tokens: Callable[[Any, Objective, Batch], int]
    """How many tokens a step on the batch reads."""
    teacher: TeacherStrategy
    """What it computes for another model to learn."""
    description: "ModelDescription"
    """How records and reports describe it."""
    whole_objective_gradient: bool = True
    """Whether every process has the whole gradient of the objective's own parameters, not that of its rows only."""


def training_strategy(model: object) -> TrainingStrategy:
    """The row of the model's kind."""
    kind = getattr(type(model), "kind", None)  # a class is not a model, though it has a kind too
    if not isinstance(kind, str) or kind not in TRAINING_STRATEGIES:
        raise BadInput(
            f"a {type(model).__name__} (kind: {kind!r}) cannot be trained; the kinds known here are "
            f"{', '.join(TRAINING_STRATEGIES)}. A new one is a row in TRAINING_STRATEGIES (train/step/strategies.py)"
        )
    return TRAINING_STRATEGIES[kind]


def _embedder_record(model: Any) -> dict[str, Any]:
    heads = [type(head).__name__ for head in model.heads.children()]
    return {"width": model.dimension, "pooling": model.pooling.spec, "heads": heads, "only_likewise": model.only_here()}


def _reranker_output(model: Any) -> str:
    return f"the score of a {model.kind}" if len(model.labels) == 1 else f"{len(model.labels)} labels"


def _reranker_pieces(model: Any, texts: Sequence[str]) -> list[list[str]]:
    tokenizer = model.tokenizer
    return [tokenizer.tokens(content[: tokenizer.max_content_length]) for content in tokenizer.token_ids(list(texts))]


EMBEDDER_DESCRIPTION = ModelDescription(
    _embedder_record, lambda model: f"{model.dimension} numbers", lambda model, texts: model.pieces(texts)
)
RERANKER_DESCRIPTION = ModelDescription(
    lambda model: {"labels": list(model.labels)}, _reranker_output, _reranker_pieces
)

TRAINING_STRATEGIES: dict[str, TrainingStrategy] = {
    "embedder": TrainingStrategy(
        "Embedder",
        embedder_step.check_embedder_objective,
        embedder_step.embedder_backward,
        embedder_step.embedder_tokens,
        EMBEDDER_TEACHER,
        EMBEDDER_DESCRIPTION,
    ),
    "cross-encoder": TrainingStrategy(
        "CrossEncoder",
        partial(reranker_step.check_reranker_objective, reads_all_pairs=False),
        partial(reranker_step.reranker_backward, reranker_step.cross_encoder_step),
        partial(reranker_step.reranker_tokens, reranker_step.cross_encoder_step),
        RERANKER_TEACHER,
        RERANKER_DESCRIPTION,
        whole_objective_gradient=False,
    ),
    "poly-encoder": TrainingStrategy(
        "PolyEncoder",
        partial(reranker_step.check_reranker_objective, reads_all_pairs=True),
        partial(reranker_step.reranker_backward, reranker_step.poly_encoder_step),
        partial(reranker_step.reranker_tokens, reranker_step.poly_encoder_step),
        RERANKER_TEACHER,
        RERANKER_DESCRIPTION,
    ),
}
"""By a model's `kind`."""
