"""The kinds of model that `likewise train` trains: how each is started, and the objectives for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...data.column_names import NLI_LABELS
from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput, BadModel
from ...reranker import CrossEncoder, PolyEncoder
from ...reranker.torch_reranker import TorchReranker
from ...runtime.devices import device_and_dtype
from ...train.objectives import OBJECTIVES, RERANKER_OBJECTIVES, Objective, ObjectiveTable, RerankerObjective
from ...train.setting_fields import settings_of
from ...train.step.trainable import Trainable
from .config import CommandOptions, Kind, TrainCommand


def expected_labels(command: TrainCommand, objectives: Sequence[Objective]) -> Sequence[str]:
    """The names of the labels that a reranker needs for these objectives; none for an embedder.

    Raises:
        BadInput: the objectives need different numbers of labels.
    """
    counts = [objective.num_labels for objective in objectives if isinstance(objective, RerankerObjective)]
    if not counts:
        return ()
    if len(set(counts)) > 1:
        numbers = " and ".join(map(str, sorted(set(counts))))
        raise BadInput(f"the data are for models of {numbers} labels; expected the same number for all")
    names = next((one.labels for one in command.data if one.labels), NLI_LABELS)
    return names if len(names) == counts[0] > 1 else tuple(f"LABEL_{i}" for i in range(counts[0]))


def start_model(command: TrainCommand, labels: Sequence[str]) -> Trainable:
    """The model to train: the saved one, if it is of the kind to train with as many labels; else a new one from it."""
    return KINDS[command.options.kind].start(command.options, labels, command.settings.seed)


def _start_poly_encoder(options: CommandOptions, labels: Sequence[str], seed: int) -> Trainable:  # noqa: ARG001
    reranker = _saved_reranker(options)
    if isinstance(reranker, PolyEncoder):
        _check_not_new(options, reranker)
        return reranker
    return PolyEncoder.start(_embedder(options), options.poly_codes, seed=seed)


def _start_cross_encoder(options: CommandOptions, labels: Sequence[str], seed: int) -> Trainable:
    reranker = _saved_reranker(options)
    if reranker is not None and reranker.kind == options.kind and len(reranker.labels) == len(labels):
        _check_label_order(reranker.labels, labels)
        return reranker
    source = options.model or "" if reranker is None else reranker
    new = CrossEncoder.start(source, list(labels), seed=seed, max_seq_length=options.max_seq_length)
    return new.to(device_and_dtype(options.device, "fp32")[0])


def _check_not_new(options: CommandOptions, reranker: PolyEncoder) -> None:
    """Refuse other codes or another pooling for a poly-encoder that is trained further."""
    codes, pooling = len(reranker.codes), reranker.pooling.spec
    if options.poly_codes not in (codes, settings_of(CommandOptions)["poly_codes"].default):
        raise BadInput(f"{options.model} is a poly-encoder of {codes} codes already; leave out --poly-codes")
    if options.pooling not in (None, pooling):
        raise BadInput(f"{options.model} is a poly-encoder already, with the pooling {pooling}; leave out --pooling")


def _embedder(options: CommandOptions) -> TorchEmbedder:
    return TorchEmbedder.load(
        options.model or "",
        precision="fp32",
        device=options.device,
        pooling=options.pooling,
        max_seq_length=options.max_seq_length,
    )


def _saved_reranker(options: CommandOptions) -> TorchReranker | None:
    """The reranker in the model's folder, if it is one."""
    if options.pooling is not None and options.kind == "cross-encoder":
        raise BadInput(f"a cross-encoder has no pooling; leave out --pooling {options.pooling}")
    try:
        return TorchReranker.load(
            options.model or "", precision="fp32", device=options.device, max_seq_length=options.max_seq_length
        )
    except BadModel:  # a folder that is not a model at all is reported when a new one is started from it
        return None


def _check_label_order(model_labels: Sequence[str], data_labels: Sequence[str]) -> None:
    if set(model_labels) == set(data_labels) and list(model_labels) != list(data_labels):
        raise BadInput(
            f"the model's labels are {', '.join(model_labels)}, and the data's are numbered as "
            f"{', '.join(data_labels)}; use --labels {','.join(model_labels)}"
        )


@dataclass(frozen=True)
class TrainableKind:
    """A kind of model: the objectives for it, and how one is started from the model of the command."""

    objectives: ObjectiveTable
    start: Callable[[CommandOptions, Sequence[str], int], Trainable]


KINDS: Mapping[Kind, TrainableKind] = {
    "embedder": TrainableKind(OBJECTIVES, lambda options, labels, seed: _embedder(options)),  # noqa: ARG005
    "cross-encoder": TrainableKind(RERANKER_OBJECTIVES, _start_cross_encoder),
    "poly-encoder": TrainableKind(RERANKER_OBJECTIVES, _start_poly_encoder),
}
"""The choices of --kind."""
