"""One training step of a reranker: the gradient of a batch, in parts that fit into memory.

A cross-encoder reads pairs and its loss is a mean over rows, so each part runs forward and backward in turn. A
poly-encoder reads texts separately. Its graph is cut at their vectors, like an embedder's (`memory.cut_step`), so that
every context meets every candidate in the batch, however small the parts.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...array_types import Float
from ...arrays.ragged import Ragged
from ...errors import BadInput
from ...reranker import CrossEncoder, PolyEncoder
from ...reranker.joint_reranker import TokenIdPair
from ...reranker.poly_encoder import at_least_single, score_candidates, score_own_candidates
from ...reranker.torch_reranker import TorchReranker
from ...wording import counted
from ..data.batch import Batch
from ..objectives import Objective, RerankerObjective
from .embedder_step import numbers_for
from .memory import SplittableStep, StepOptions, StepParts, cut_step


def check_reranker_objective(reranker: TorchReranker, objective: Objective, *, reads_all_pairs: bool) -> None:
    """Reject an objective that does not fit; only a poly-encoder can score all first texts with all candidates."""
    kind, name = type(reranker).__name__, type(objective).__name__
    if not isinstance(objective, RerankerObjective):
        raise BadInput(
            f"{name} is for an embedder's vectors, but this is a {kind}; its objectives are in RERANKER_OBJECTIVES"
        )
    if len(reranker.labels) != objective.num_labels:
        raise BadInput(
            f"{name} needs {counted(objective.num_labels, 'label')}, but the {kind} has {len(reranker.labels)} "
            f"({', '.join(list(reranker.labels)[:5])}): create one with "
            f"Reranker.start(…, labels={objective.num_labels})"
        )
    if objective.ALL_PAIRS and not reads_all_pairs:
        raise BadInput(
            f"{name} scores every first text with every candidate, which a {kind} would have to read one by one: "
            "expected a PolyEncoder, or PairRanking with columns of negatives"
        )


def reranker_logits(
    reranker: CrossEncoder, contents: Sequence[TokenIdPair], dtype: torch.dtype | None = None
) -> Float[Tensor, "n C"]:
    """Logits of pairs of ids in the given order, packed by decreasing length, with autocast to `dtype` if given."""
    order = sorted(range(len(contents)), key=lambda i: -sum(map(len, contents[i])))
    with torch.autocast(reranker.device.type, dtype, enabled=dtype is not None):
        logits: Tensor = reranker(reranker.packed([contents[i] for i in order]))
    return at_least_single(logits)[torch.argsort(torch.tensor(order)).to(logits.device)]


def losses_of(objective: Objective, scores: Tensor, batch: Batch) -> Float[Tensor, " N"]:
    """The losses of this batch's rows, given their logits or scores."""
    losses: Tensor = objective(scores, **numbers_for(objective, batch, scores))
    return losses


def cross_encoder_step(
    reranker: CrossEncoder, objective: RerankerObjective, batch: Batch, options: StepOptions
) -> SplittableStep:
    """Runs each part of the rows forward and then backward; only losses are gathered across processes."""
    rows = len(batch)
    first, *others = batch.prompted("")
    pairs = [pair for other in others for pair in zip(first, other, strict=True)]
    contents = reranker.token_id_pairs(pairs, prompt=_prompt(batch))
    specials, all_rows = reranker.tokenizer.pair.specials, rows * options.processes.count

    def forward(parts: StepParts) -> float:
        total = 0.0
        for part in parts:
            pairs = [pair for i in part for pair in contents[i::rows]]
            logits = reranker_logits(reranker, pairs, options.dtype).view(len(part), len(others), -1)
            loss = losses_of(objective, logits, batch.take(part)).sum() / all_rows
            (loss * options.loss_scale).backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        return total

    def gather(loss: float) -> float:
        if options.processes.count == 1:
            return loss
        return float(options.processes.gather(torch.tensor([loss], device=reranker.device)).sum())

    lengths = [sum(sum(map(len, pair)) + specials for pair in contents[i::rows]) for i in range(rows)]
    return SplittableStep("row", lengths, forward, gather, backward=float)


def _prompt(batch: Batch) -> str | None:
    """None for the model's default prompt, or "" if the batch has its own, which is already in front of the text."""
    return "" if batch.prompts and batch.prompts[0] is not None else None


def poly_encoder_step(
    reranker: PolyEncoder, objective: RerankerObjective, batch: Batch, options: StepOptions
) -> SplittableStep:
    """Encodes contexts and candidates separately, so that every context can meet every candidate in the batch."""
    first, *others = batch.prompted("")
    contexts = reranker.context_ids(first, prompt=_prompt(batch))
    ids = (contexts, reranker.candidate_ids([text for column in others for text in column]))
    encoders, device = (reranker.contexts, reranker.candidates), reranker.device
    joined_batch = batch.gather(options.processes)

    def encode(side: int, texts: list[int]) -> Tensor:
        with torch.autocast(device.type, options.dtype, enabled=options.dtype is not None):
            return at_least_single(encoders[side](Ragged.of([ids[side][i] for i in texts], device)))

    def loss(contexts: Float[Tensor, "N m D"], candidates: Float[Tensor, "M D"]) -> Float[Tensor, ""]:
        if objective.ALL_PAIRS:
            scores = score_candidates(contexts, candidates)
        else:
            own = torch.stack(candidates.chunk(len(others)), dim=1)
            scores = score_own_candidates(contexts, own).unsqueeze(2)
        return losses_of(objective, scores, joined_batch).mean()

    lengths = [len(row) for side in ids for row in side]
    return cut_step(lengths, [1, len(others)], encode, loss, device, options)
