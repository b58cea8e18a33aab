"""One training step of a reranker: the gradient of a batch, in parts that fit into memory.

A cross-encoder reads pairs, and the loss is a mean over rows: a part is some rows, forward and backward at once. A
poly-encoder reads texts separately: its graph is cut at their vectors, as an embedder's is (`embedder_step`), so that
every context meets every candidate of the batch, however small the parts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from ...arrays.ragged import Ragged
from ...errors import BadInput
from ...reranker import CrossEncoder, PolyEncoder
from ...reranker.joint_reranker import TokenIdPair
from ...reranker.poly_encoder import score_candidates, score_own_candidates
from ...reranker.torch_reranker import TorchReranker
from ..data.batch import Batch
from ..objectives import Objective, RerankerObjective
from . import seeding
from .embedder_step import backward_if_trained, like_vectors
from .memory import SplittableStep, StepOptions, StepParts, StepResult, retry_smaller


def check_reranker_objective(reranker: TorchReranker, objective: Objective, *, reads_all_pairs: bool) -> None:
    """Refuse an objective that the reranker cannot be trained with.

    Args:
        reranker: the model to train.
        objective: what it is trained with.
        reads_all_pairs: whether the reranker can score every first text of a batch with every candidate.
    """
    kind, name = type(reranker).__name__, type(objective).__name__
    if not isinstance(objective, RerankerObjective):
        raise BadInput(
            f"{name} is for the vectors of an embedder, and this is a {kind}; its objectives are RERANKER_OBJECTIVES"
        )
    if len(reranker.labels) != objective.num_labels:
        raise BadInput(
            f"{name} needs {_counted(objective.num_labels)}, and the {kind} has {len(reranker.labels)} "
            f"({', '.join(list(reranker.labels)[:5])}): create one with "
            f"Reranker.start(…, labels={objective.num_labels})"
        )
    if objective.ALL_PAIRS and not reads_all_pairs:
        raise BadInput(
            f"{name} scores every first text with every candidate, which a {kind} would have to read one by one: "
            "expected a PolyEncoder, or PairRanking with columns of negatives"
        )


def reranker_backward(
    split: "SplitStep", reranker: TorchReranker, objective: Objective, batch: Batch, options: StepOptions | None = None
) -> StepResult:
    """Add the gradient of `options.loss_scale` × the mean of the rows' losses to that of the parameters.

    Of several processes, a cross-encoder's objective gets the gradient of this process's rows only, not the whole one
    (`trainable.join_gradients` handles both).
    """
    inputs = _step_inputs(objective, batch, options)
    step = split(reranker, inputs)
    return retry_smaller(reranker, objective, step, inputs.options.token_budget, inputs.options.processes)


def reranker_tokens(split: "SplitStep", reranker: TorchReranker, objective: Objective, batch: Batch) -> int:
    """How many tokens a step on the batch reads."""
    return sum(split(reranker, _step_inputs(objective, batch)).lengths)


def reranker_logits(
    reranker: CrossEncoder, contents: Sequence[TokenIdPair], dtype: torch.dtype | None = None
) -> Float[Tensor, "n C"]:
    """Logits of pairs of ids in the order given, packed by decreasing length; with autocast to `dtype` if given."""
    order = sorted(range(len(contents)), key=lambda i: -_length(contents[i]))
    with torch.autocast(reranker.device.type, dtype, enabled=dtype is not None):
        logits: Tensor = reranker(reranker.packed([contents[i] for i in order]))
    return _at_least_float32(logits)[torch.argsort(torch.tensor(order)).to(logits.device)]


@dataclass(frozen=True, eq=False)
class RerankerStepInputs:
    """What one step is computed from."""

    objective: RerankerObjective
    batch: Batch
    options: StepOptions

    def losses(self, scores: Tensor, batch: Batch) -> Float[Tensor, " N"]:
        """The losses of this batch's rows, whose logits or scores are given."""
        numbers = {name: like_vectors(scores, values) for name, values in batch.numbers.items()}
        if self.objective.reads().text_ids:
            numbers["text_ids"] = batch.names.to(scores.device)
        losses: Tensor = self.objective(scores, **numbers)
        return losses

    def backward(self, loss: Float[Tensor, ""]) -> float:
        """Add the gradient of this loss."""
        (loss * self.options.loss_scale).backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())


def _step_inputs(objective: Objective, batch: Batch, options: StepOptions | None = None) -> RerankerStepInputs:
    assert isinstance(objective, RerankerObjective), "check_reranker_objective is called first"
    return RerankerStepInputs(objective, batch, options or StepOptions())


SplitStep: TypeAlias = Callable[[Any, RerankerStepInputs], SplittableStep]
"""The step of one kind of rerankers: `cross_encoder_step` or `poly_encoder_step`."""


def cross_encoder_step(reranker: CrossEncoder, inputs: RerankerStepInputs) -> SplittableStep:
    """Each part of the rows goes forward and backward at once, and only losses are gathered."""
    batch, rows, options = inputs.batch, len(inputs.batch), inputs.options
    first, *others = batch.texts
    contents = reranker.token_id_pairs([pair for other in others for pair in zip(first, other, strict=True)])
    specials, all_rows = reranker.tokenizer.pair.specials, rows * options.processes.count

    def forward(parts: StepParts) -> float:
        total = 0.0
        for part in parts:
            pairs = [pair for i in part for pair in contents[i::rows]]
            logits = reranker_logits(reranker, pairs, options.dtype).view(len(part), len(others), -1)
            total += inputs.backward(inputs.losses(logits, batch.take(part)).sum() / all_rows)
        return total

    def gather(loss: float) -> float:
        if options.processes.count == 1:
            return loss
        return float(options.processes.gather(torch.tensor([loss], device=reranker.device)).sum())

    lengths = [sum(_length(pair) + specials for pair in contents[i::rows]) for i in range(rows)]
    return SplittableStep("row", lengths, forward, gather, backward=float)


def poly_encoder_step(reranker: PolyEncoder, inputs: RerankerStepInputs) -> SplittableStep:
    """Texts, contexts before candidates, are encoded in parts; the gradient then goes back through each part."""
    first, *others = inputs.batch.texts
    ids = (reranker.context_ids(first), reranker.candidate_ids([text for column in others for text in column]))
    encode, device, options = (reranker.contexts, reranker.candidates), reranker.device, inputs.options
    joined_batch, gather_rows = inputs.batch.gather(options.processes), options.processes.gather

    def vectors(part: _EncodedTexts) -> Tensor:
        with torch.autocast(device.type, options.dtype, enabled=options.dtype is not None):
            return _at_least_float32(encode[part.side](Ragged.of([ids[part.side][i] for i in part.texts], device)))

    def forward(parts: StepParts) -> list[_EncodedTexts]:
        encoded = [side for part in parts for side in _by_side(part, len(first))]
        has_graph = len(parts) == 1
        with torch.set_grad_enabled(has_graph):
            for part in encoded:
                part.generators, part.vectors = seeding.generator_states(device), vectors(part)
                part.has_graph = has_graph
        return encoded

    def gather(encoded: list[_EncodedTexts]) -> tuple[list[_EncodedTexts], Tensor, Tensor]:
        contexts, candidates = (_in_order(encoded, side) for side in range(2))
        columns = [gather_rows(column) for column in candidates.chunk(len(others))]
        return encoded, gather_rows(contexts), torch.cat(columns)

    def backward(outputs: tuple[list[_EncodedTexts], Tensor, Tensor]) -> float:
        encoded, contexts, candidates = outputs
        loss, gradient = _loss_part(inputs, joined_batch, contexts.requires_grad_(), candidates.requires_grad_())
        generators_after = seeding.generator_states(device)
        for part in encoded:
            if not part.has_graph:
                seeding.restore_generators(part.generators, device)  # dropout drops the same as in the forward pass
            output = part.vectors if part.has_graph else vectors(part)
            backward_if_trained(output, gradient[part.side][part.texts])
        seeding.restore_generators(generators_after, device)
        return loss

    return SplittableStep("text", [len(row) for side in ids for row in side], forward, gather, backward)


@dataclass(eq=False)
class _EncodedTexts:
    """Texts of one side (0: contexts, 1: candidates) and their vectors, with or without their graph."""

    side: int
    texts: list[int]
    has_graph: bool = False
    vectors: Tensor = field(default_factory=lambda: torch.empty(0))
    generators: list[Tensor] = field(default_factory=list)  # states before the forward pass


def _by_side(part: Sequence[int], contexts: int) -> list[_EncodedTexts]:
    """A part of the texts, split into its contexts and its candidates."""
    sides = [i for i in part if i < contexts], [i - contexts for i in part if i >= contexts]
    return [_EncodedTexts(side, texts) for side, texts in enumerate(sides) if texts]


def _in_order(encoded: Sequence[_EncodedTexts], side: int) -> Float[Tensor, "M ..."]:
    """The vectors of one side in the order of its texts."""
    parts = [part for part in encoded if part.side == side]
    vectors = torch.cat([part.vectors for part in parts]).detach()
    return vectors[torch.argsort(torch.tensor([i for part in parts for i in part.texts])).to(vectors.device)]


def _loss_part(
    inputs: RerankerStepInputs, joined_batch: Batch, contexts: Float[Tensor, "N m D"], candidates: Float[Tensor, "M D"]
) -> tuple[float, tuple[Tensor, Tensor]]:
    """The loss, with the rows of all processes, and its gradient by this process's contexts and candidates."""
    columns, local = len(inputs.batch.texts) - 1, inputs.options.processes.local_rows(len(contexts))
    crossed = inputs.objective.ALL_PAIRS
    scores = score_candidates(contexts, candidates) if crossed else _own_scores(contexts, candidates, columns)
    loss = inputs.backward(inputs.losses(scores, joined_batch).mean())
    assert contexts.grad is not None and candidates.grad is not None
    return loss, (contexts.grad[local], torch.cat([part[local] for part in candidates.grad.chunk(columns)]))


def _own_scores(
    contexts: Float[Tensor, "N m D"], candidates: Float[Tensor, "M D"], columns: int
) -> Float[Tensor, "N P 1"]:
    """The scores of each context with its own candidates."""
    return score_own_candidates(contexts, torch.stack(candidates.chunk(columns), dim=1)).unsqueeze(2)


def _at_least_float32(values: Tensor) -> Tensor:
    """In single precision, or double where it is."""
    return values if values.dtype == torch.float64 else values.float()


def _length(pair: TokenIdPair) -> int:
    return len(pair[0]) + len(pair[1])


def _counted(labels: int) -> str:
    return "one label" if labels == 1 else f"{labels} labels"
