"""Turns the command's configuration into data and a model in memory: an embedder, or either kind of reranker."""

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...data.column_names import ColumnNames
from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput, BadModel
from ...reranker import CrossEncoder, PolyEncoder
from ...reranker.torch_reranker import TorchReranker
from ...runtime.devices import device_and_dtype
from ...train.data.schedule import DataSource
from ...train.data.sources import load_data
from ...train.evaluators import PairEvaluator, load_evaluator, with_data_prompts
from ...train.objectives import OBJECTIVES, RERANKER_OBJECTIVES, RerankerObjective
from ...train.output.record import TrainingJob
from ...train.run import training_job
from ...train.setting_fields import settings_of
from ...train.step.trainable import Trainable, check_same_labels
from ..model_options import prepare_runtime, set_threads
from .config import CommandOptions, DataOptions, Kind, TrainCommand


@dataclass(frozen=True, kw_only=True)
class ReadyToTrain:
    """A training command whose model and data are in memory."""

    command: TrainCommand
    job: TrainingJob
    evaluator: PairEvaluator | None


def prepare_training(command: TrainCommand) -> ReadyToTrain:
    """Read the data, then the model, so that problems are reported before anything is computed."""
    options = command.options
    set_threads(Namespace(threads=options.threads))
    prepare_runtime(Namespace(device=options.device))
    sources = [data_source(one, options.kind) for one in command.data]
    labels = _expected_labels(command, sources)
    model = STARTS[options.kind](options, labels, command.settings.seed)
    evaluator = _evaluator(command, sources, getattr(model, "labels", 1))
    job = training_job(options.model or "", model, sources, command.settings, evaluator)
    return ReadyToTrain(command=command, job=replace(job, recipe=options.recipe), evaluator=evaluator)


def data_source(one: DataOptions, kind: Kind = "embedder") -> DataSource:
    columns = ColumnNames.parse(one.columns, one.labels, one.where)
    objectives = OBJECTIVES if kind == "embedder" else RERANKER_OBJECTIVES
    known = {"licence": one.licence, "hub": one.hub}
    return load_data(one.file, one.objective, columns, prompts=one.prompts, objectives=objectives, **known)


def _evaluator(
    command: TrainCommand, sources: Sequence[DataSource], labels: int | Sequence[str]
) -> PairEvaluator | None:
    """The evaluator for --dev: correlation with scores, retrieval of positives, or accuracy with several labels."""
    options = command.options
    if not options.dev:
        return None
    texts = next((one.labels for one in command.data if one.labels), ())
    if options.dev_columns:
        evaluator = load_evaluator(options.dev, ColumnNames.parse(options.dev_columns, texts), labels=labels)
    else:
        names = ColumnNames.parse([pair for one in command.data for pair in one.columns], texts)
        evaluator = load_evaluator(options.dev, training_columns=names, labels=labels)
    return with_data_prompts(evaluator, sources)


def _expected_labels(command: TrainCommand, sources: Sequence[DataSource]) -> Sequence[str]:
    """The labels that a reranker needs for these data, named by --labels or by the data; empty for an embedder."""
    objectives = [source.objective for source in sources]
    counts = [objective.num_labels for objective in objectives if isinstance(objective, RerankerObjective)]
    if not counts:
        return ()
    if len(set(counts)) > 1:
        numbers = " and ".join(map(str, sorted(set(counts))))
        raise BadInput(f"the data sets need models with {numbers} labels; expected the same number for all of them")
    unnamed = tuple(f"LABEL_{i}" for i in range(counts[0]))
    if counts[0] == 1:
        return unnamed
    for one in command.data:
        if one.labels and len(one.labels) != counts[0]:
            raise BadInput(
                f"--labels names {len(one.labels)}, {', '.join(one.labels)}, but the objective of {one.file} has "
                f"{counts[0]} labels; name all of them, or use classification:num_labels={len(one.labels)}"
            )
    given = [
        one.labels or getattr(source.rows, "labels", ()) for one, source in zip(command.data, sources, strict=True)
    ]
    check_same_labels([(one.file, labels) for one, labels in zip(command.data, given, strict=True)])
    names = next((labels for labels in given if labels), ())
    return names if len(names) == counts[0] else unnamed


def _start_poly_encoder(options: CommandOptions, labels: Sequence[str], seed: int) -> Trainable:  # noqa: ARG001
    reranker = _saved_reranker(options)
    if isinstance(reranker, PolyEncoder):
        _check_not_new(options, reranker)
        return reranker
    return PolyEncoder.start(_start_embedder(options), options.poly_codes, seed=seed)


def _start_cross_encoder(options: CommandOptions, labels: Sequence[str], seed: int) -> Trainable:
    reranker = _saved_reranker(options)
    if reranker is not None and reranker.kind == options.kind and len(reranker.labels) == len(labels):
        check_same_labels([(options.model or "", reranker.labels), ("the data", labels)])
        return reranker
    source = options.model or "" if reranker is None else reranker
    new = CrossEncoder.start(source, list(labels), seed=seed, max_seq_length=options.max_seq_length)
    return new.to(device_and_dtype(options.device, "fp32")[0])


def _check_not_new(options: CommandOptions, reranker: PolyEncoder) -> None:
    codes, pooling = len(reranker.codes), reranker.pooling.spec
    if options.poly_codes not in (codes, settings_of(CommandOptions)["poly_codes"].default):
        raise BadInput(f"{options.model} is already a poly-encoder with {codes} codes; omit poly_codes")
    if options.pooling not in (None, pooling):
        raise BadInput(f"{options.model} is already a poly-encoder with the pooling {pooling}; omit --pooling")


def _start_embedder(options: CommandOptions, *_: object) -> TorchEmbedder:
    loading: dict[str, Any] = {"pooling": options.pooling, "max_seq_length": options.max_seq_length}
    return TorchEmbedder.load(options.model or "", precision="fp32", device=options.device, **loading)


def _saved_reranker(options: CommandOptions) -> TorchReranker | None:
    if options.pooling is not None and options.kind == "cross-encoder":
        raise BadInput(f"a cross-encoder has no pooling; omit --pooling {options.pooling}")
    loading: dict[str, Any] = {"device": options.device, "max_seq_length": options.max_seq_length}
    try:
        return TorchReranker.load(options.model or "", precision="fp32", **loading)
    except BadModel:  # if the folder is not a model at all, starting a new model from it reports that
        return None


STARTS: Mapping[Kind, Callable[[CommandOptions, Sequence[str], int], Trainable]] = {
    "embedder": _start_embedder,
    "cross-encoder": _start_cross_encoder,
    "poly-encoder": _start_poly_encoder,
}
"""Starts a model of each --kind: the saved one if it is of that kind and has these labels, otherwise a new one."""
