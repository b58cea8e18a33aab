"""Trainable models, and how training differs for each kind of model (`TRAINING_STRATEGIES`).

The loop itself uses only a model's parameters, encoder, device, precision, `train` and `eval`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput
from ...reranker import Reranker
from ...reranker.torch_reranker import TorchReranker
from ...text.inputs import resolve_prompt
from ..data.batch import Batch
from ..objectives import Objective
from . import embedder_step, reranker_step
from .memory import SplittableStep, StepOptions, StepResult, retry_smaller
from .processes import Processes

Trainable: TypeAlias = TorchEmbedder | TorchReranker


@dataclass(frozen=True)
class TrainingStrategy:
    """How to train models of one kind, and how records and reports describe them."""

    model_name: str  # in records, for any engine
    check_objective: Callable[[Any, Objective], None]
    step: Callable[[Any, Any, Batch, StepOptions], SplittableStep]
    record: Callable[[Any], dict[str, Any]]  # for run.json, besides kind, fingerprint and maximum length
    output: Callable[[Any], str]  # what the model computes for a text or a pair, in words
    pieces: Callable[
        [Any, Sequence[str]], list[list[str]]
    ]  # the word pieces of each prompted text; long pairs are truncated
    whole_objective_gradient: bool = True  # every process has the objective's whole gradient


def training_strategy(model: object) -> TrainingStrategy:
    kind = getattr(type(model), "kind", None)  # of the type, because a class passed as the model has a kind too
    if not isinstance(kind, str) or kind not in TRAINING_STRATEGIES:
        raise BadInput(
            f"a {type(model).__name__} (kind: {kind!r}) cannot be trained; the known kinds are "
            f"{', '.join(TRAINING_STRATEGIES)}. To add one, add a row to TRAINING_STRATEGIES (train/step/trainable.py)"
        )
    return TRAINING_STRATEGIES[kind]


def model_kind(model: Trainable) -> str:
    """Embedder, CrossEncoder or PolyEncoder, for any engine."""
    return training_strategy(model).model_name


def check_objective(model: Trainable, objective: Objective) -> None:
    """Prepare the objective for the model: create the objective's own weights, and reject mismatches."""
    training_strategy(model).check_objective(model, objective)


def backward(model: Trainable, objective: Objective, batch: Batch, options: StepOptions | None = None) -> StepResult:
    """Add the gradient of `options.loss_scale` × the batch's loss to the parameters' gradients.

    The model may be in training or evaluation mode. The objective must already be prepared for it (`check_objective`).
    If memory runs out, this process halves its token budget and repeats the step (`memory`).
    """
    options = options or StepOptions()
    step = training_strategy(model).step(model, objective, batch, options)
    return retry_smaller(model, objective, step, options.token_budget, options.processes)


def prompted_columns(model: Trainable | Reranker, batch: Batch) -> list[list[str]]:
    """The columns as the model reads them; a reranker's default prompt precedes only the first text of a pair."""
    manifest = model.manifest
    first, *others = batch.prompted(resolve_prompt(None, None, manifest.prompts, manifest.default_prompt))
    return [first, *(others if isinstance(model, TorchEmbedder) else batch.prompted("")[1:])]


def has_label_names(labels: Sequence[str]) -> bool:
    """Whether any label has a name other than 0, 1 … or LABEL_0, LABEL_1 …"""
    return any(label not in (str(i), f"LABEL_{i}") for i, label in enumerate(labels))


def check_same_labels(named: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Reject labels that differ in names or order from the first ones; labels without names match any."""
    (whose, expected), *others = [one for one in named if has_label_names(one[1])] or [("", ())]
    for who, labels in others:
        if [label.strip().lower() for label in labels] != [label.strip().lower() for label in expected]:
            raise BadInput(
                f"the labels of {whose} are {', '.join(expected)}, but those of {who} are numbered as "
                f"{', '.join(labels)}; expected the same labels in the same order: --labels {','.join(expected)}, or "
                "ColumnNames(labels=…)"
            )


def count_tokens(model: Trainable, objective: Objective, batch: Batch) -> int:
    return sum(training_strategy(model).step(model, objective, batch, StepOptions()).lengths)


def join_gradients(model: Trainable, objectives: Sequence[Objective], processes: Processes) -> None:
    """Turn each gradient into the gradient of the joined batch, in all processes.

    Every process has its own part of the model's gradient, so the parts are summed. Every process has the whole
    gradient of the objectives' own parameters; these are averaged to stay equal everywhere (random draws and rounding
    may differ between processes). The exception is a cross-encoder, which reads only its own rows: there, the
    objectives' gradients are also parts to be summed.
    """
    processes.sum_gradients(model.parameters())
    scale = 1 / processes.count if training_strategy(model).whole_objective_gradient else 1.0
    processes.sum_gradients((p for objective in objectives for p in objective.parameters()), scale)


def _embedder_record(model: Any) -> dict[str, Any]:
    heads = [type(head).__name__ for head in model.heads.children()]
    return {"width": model.dimension, "pooling": model.pooling.spec, "heads": heads, "only_likewise": model.only_here()}


def _reranker_output(model: Any) -> str:
    return f"the score of a {model.kind}" if len(model.labels) == 1 else f"{len(model.labels)} labels"


def _reranker_pieces(model: Any, texts: Sequence[str]) -> list[list[str]]:
    tokenizer = model.tokenizer
    return [tokenizer.tokens(content[: tokenizer.max_content_length]) for content in tokenizer.token_ids(list(texts))]


def _reranker_strategy(name: str, step: Callable[..., SplittableStep], *, reads_all_pairs: bool) -> TrainingStrategy:
    return TrainingStrategy(
        name,
        partial(reranker_step.check_reranker_objective, reads_all_pairs=reads_all_pairs),
        step,
        lambda model: {"labels": list(model.labels)},
        _reranker_output,
        _reranker_pieces,
        whole_objective_gradient=reads_all_pairs,
    )


TRAINING_STRATEGIES: dict[str, TrainingStrategy] = {
    "embedder": TrainingStrategy(
        "Embedder",
        embedder_step.check_embedder_objective,
        embedder_step.embedder_step,
        _embedder_record,
        lambda model: f"{model.dimension} numbers",
        lambda model, texts: model.pieces(texts, prompt=""),
    ),
    "cross-encoder": _reranker_strategy("CrossEncoder", reranker_step.cross_encoder_step, reads_all_pairs=False),
    "poly-encoder": _reranker_strategy("PolyEncoder", reranker_step.poly_encoder_step, reads_all_pairs=True),
}
"""Keyed by a model's `kind`."""
