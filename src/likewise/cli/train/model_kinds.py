"""What kind of model `likewise train` trains: what it begins with, and which objectives there are for it."""

from collections.abc import Mapping, Sequence

from ... import Reranker
from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput, BadModel
from ...reranker import CrossEncoder, PolyEncoder
from ...runtime.devices import device_and_dtype
from ...train.data.sources import NLI
from ...train.objectives import OBJECTIVES, RERANKER_OBJECTIVES, Objective, ObjectiveTable, RerankerObjective
from ...train.step.trainable import Trainable
from .config import Kind, TrainCommand

TABLES: Mapping[Kind, ObjectiveTable] = {
    "embedder": OBJECTIVES,
    "cross-encoder": RERANKER_OBJECTIVES,
    "poly-encoder": RERANKER_OBJECTIVES,
}


def expected_labels(job: TrainCommand, objectives: Sequence[Objective]) -> Sequence[str]:
    """The names of the labels that a reranker is to have; none of an embedder."""
    counts = [objective.num_labels for objective in objectives if isinstance(objective, RerankerObjective)]
    if not counts:
        return ()
    if len(set(counts)) > 1:
        raise BadInput(
            f"the data are for models of {' and '.join(map(str, sorted(set(counts))))} labels; wanted one kind"
        )
    told = next((one.labels for one in job.data if one.labels), NLI)
    return told if len(told) == counts[0] > 1 else tuple(f"LABEL_{i}" for i in range(counts[0]))


def start_model(job: TrainCommand, labels: Sequence[str]) -> Trainable:
    """The model to train: as it was saved, where it is one of this kind with as many labels; else begun from it."""
    options, seed = job.options, job.run.seed
    assert options.model is not None
    reranker = None if options.kind == "embedder" else _reranker(job)
    if isinstance(reranker, PolyEncoder) and options.kind == "poly-encoder":
        return reranker
    if options.kind == "cross-encoder":
        if isinstance(reranker, CrossEncoder) and len(reranker.labels) == len(labels):
            _check_order(reranker.labels, labels)
            return reranker
        source = options.model if reranker is None else reranker
        return Reranker.start(source, list(labels), seed=seed, max_length=options.max_length).to(
            device_and_dtype(options.device, "fp32")[0]
        )
    embedder = TorchEmbedder.load(
        options.model,
        precision="fp32",
        device=options.device,
        pooling=options.pooling,
        max_length=options.max_length,
    )
    return embedder if options.kind == "embedder" else PolyEncoder.start(embedder, options.codes, seed=seed)


def _check_order(known: Sequence[str], told: Sequence[str]) -> None:
    if set(known) == set(told) and list(known) != list(told):
        raise BadInput(
            f"the model's labels are {', '.join(known)}, and the data's are numbered as {', '.join(told)}; "
            f"tell --labels {','.join(known)}"
        )


def _reranker(job: TrainCommand) -> Reranker | None:
    """The reranker that the model is, if it is one."""
    options = job.options
    if options.pooling is not None and options.kind == "cross-encoder":
        raise BadInput(f"a cross-encoder has no pooling, and {options.pooling} was asked for")
    try:
        return Reranker.load(
            options.model or "", precision="fp32", device=options.device, max_length=options.max_length
        )
    except BadModel:  # what is no model at all either, is told when one is begun from it
        return None
