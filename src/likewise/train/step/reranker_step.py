"""One step back of a reranker: the gradient of a batch as a whole, in pieces where it must fit.

A cross-encoder reads pairs, and the loss is a mean over rows: a piece is some rows, forward and back at once. A
poly-encoder reads texts apart: its graph is cut at their vectors, as an embedder's is (`step`), so that every context
meets every candidate of the batch, however small the pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from ...arrays.ragged import Ragged
from ...errors import BadInput
from ...reranker import CrossEncoder, PolyEncoder, Reranker
from ...reranker.cross_encoder import Contents
from ...reranker.poly_encoder import score_candidates, score_own_candidates
from ..data.batch import Batch
from ..objectives import Objective, RerankerObjective
from . import seeding
from .embedder_step import side_by_side
from .memory import PartSplitter, StepParts, StepResult, TokenBudget, retry_smaller
from .processes import SINGLE_PROCESS, Processes


def check_reranker_objective(reranker: Reranker, objective: Objective) -> None:
    """Refuses an objective that the reranker cannot be trained with.

    Raises:
        BadInput: it is one for vectors, wants other labels, or reads more pairs than a cross-encoder can.
    """
    kind, name = type(reranker).__name__, type(objective).__name__
    if not isinstance(objective, RerankerObjective):
        raise BadInput(f"{name} is for the vectors of an embedder, and this is a {kind}; see RERANKING for its kin")
    if len(reranker.labels) != objective.num_labels:
        raise BadInput(
            f"{name} wants {_counted(objective.num_labels)}, and the {kind} has {len(reranker.labels)} "
            f"({', '.join(list(reranker.labels)[:5])}): begin one with Reranker.start(…, labels={objective.num_labels})"
        )
    if objective.ALL_PAIRS and not isinstance(reranker, PolyEncoder):
        raise BadInput(
            f"{name} scores every first text with every candidate, which a {kind} reads one by one: wanted a "
            "PolyEncoder, or PairRanking with columns of negatives"
        )


def reranker_backward(
    reranker: Reranker,
    objective: RerankerObjective,
    batch: Batch,
    *,
    budget: TokenBudget | None = None,
    dtype: torch.dtype | None = None,
    share: float = 1.0,
    processes: Processes = SINGLE_PROCESS,
) -> StepResult:
    """Adds the gradient of `share` × the mean of the rows' losses to that of the parameters; as `step.backward` does.

    Of several processes, a cross-encoder's objective gets the gradient of this one's rows alone, not the whole
    (`trainable.join_gradients` joins either).

    Raises:
        OutOfMemory: one row of a cross-encoder, one text of a poly-encoder, does not fit.
    """
    parts = _parts(reranker, _Asked(objective, batch, dtype, share, processes))
    return retry_smaller(reranker, parts, budget or TokenBudget(), objective, processes)


def reranker_tokens(reranker: Reranker, objective: RerankerObjective, batch: Batch) -> int:
    """How many a step on the batch reads."""
    return sum(_parts(reranker, _Asked(objective, batch, None, 1.0, SINGLE_PROCESS)).lengths)


def reranker_logits(
    reranker: CrossEncoder, contents: Sequence[Contents], dtype: torch.dtype | None = None
) -> Float[Tensor, "n C"]:
    """Of pairs of ids in the order given, packed by falling length; in `dtype` where it is given."""
    order = sorted(range(len(contents)), key=lambda i: -_size(contents[i]))
    with torch.autocast(reranker.device.type, dtype, enabled=dtype is not None):
        found: Tensor = reranker(reranker.packed([contents[i] for i in order]))
    return _exact(found)[torch.argsort(torch.tensor(order)).to(found.device)]


@dataclass(frozen=True, eq=False)
class _Asked:
    """What `reranker_backward` was asked for."""

    objective: RerankerObjective
    batch: Batch
    dtype: torch.dtype | None
    share: float
    processes: Processes

    def losses(self, found: Tensor, batch: Batch) -> Float[Tensor, " N"]:
        """Of the rows of this batch, whose logits or scores were found."""
        more = {name: side_by_side(found, values) for name, values in batch.numbers.items()}
        if self.objective.reads().text_ids:
            more["text_ids"] = batch.names.to(found.device)
        losses: Tensor = self.objective(found, **more)
        return losses

    def back(self, loss: Float[Tensor, ""]) -> float:
        """Adds its gradient."""
        (loss * self.share).backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())


def _parts(reranker: Reranker, asked: _Asked) -> PartSplitter:
    if isinstance(reranker, PolyEncoder):
        return _apart(reranker, asked)
    assert isinstance(reranker, CrossEncoder)
    return _together(reranker, asked)


def _together(reranker: CrossEncoder, asked: _Asked) -> PartSplitter:
    """A cross-encoder's: each piece of rows goes forward and back at once, and only losses are joined."""
    batch, rows = asked.batch, len(asked.batch)
    first, *others = batch.texts
    contents = reranker.contents([pair for other in others for pair in zip(first, other, strict=True)])
    specials, whole = reranker.tokenizer.pair.specials, rows * asked.processes.count

    def forth(pieces: StepParts) -> float:
        total = 0.0
        for piece in pieces:
            pairs = [pair for i in piece for pair in contents[i::rows]]
            found = reranker_logits(reranker, pairs, asked.dtype).view(len(piece), len(others), -1)
            total += asked.back(asked.losses(found, batch.take(piece)).sum() / whole)
        return total

    def joined(loss: float) -> float:
        if asked.processes.count == 1:
            return loss
        return float(asked.processes.together(torch.tensor([loss], device=reranker.device)).sum())

    lengths = [sum(_size(pair) + specials for pair in contents[i::rows]) for i in range(rows)]
    return PartSplitter("row", lengths, forth, joined, back=float)


def _apart(reranker: PolyEncoder, asked: _Asked) -> PartSplitter:
    """A poly-encoder's: texts, contexts before candidates, to vectors in pieces; then back through each piece."""
    first, *others = asked.batch.texts
    ids = (reranker.context_ids(first), reranker.candidate_ids([text for column in others for text in column]))
    make, device = (reranker.contexts, reranker.candidates), reranker.device
    whole = asked.batch.together(asked.processes)

    def vectors(part: _Part) -> Tensor:
        with torch.autocast(device.type, asked.dtype, enabled=asked.dtype is not None):
            return _exact(make[part.side](Ragged.of([ids[part.side][i] for i in part.texts], device)))

    def forth(pieces: StepParts) -> list[_Part]:
        parts = [part for piece in pieces for part in _sides(piece, len(first))]
        kept = len(pieces) == 1
        with torch.set_grad_enabled(kept):
            for part in parts:
                part.random, part.vectors, part.kept = seeding.states(device), vectors(part), kept
        return parts

    def joined(parts: list[_Part]) -> tuple[list[_Part], Tensor, Tensor]:
        together, columns = asked.processes.together, len(others)
        contexts, candidates = (_laid(parts, side) for side in range(2))
        return parts, together(contexts), torch.cat([together(column) for column in candidates.chunk(columns)])

    def back(all_of_it: tuple[list[_Part], Tensor, Tensor]) -> float:
        parts, contexts, candidates = all_of_it
        loss, gradient = _above(asked, whole, contexts.requires_grad_(), candidates.requires_grad_())
        after = seeding.states(device)
        for part in parts:
            if not part.kept:
                seeding.restore_states(part.random, device)  # the same words are dropped as when the vectors were made
            found = part.vectors if part.kept else vectors(part)
            found.backward(gradient[part.side][part.texts])  # type: ignore[no-untyped-call]
        seeding.restore_states(after, device)
        return loss

    return PartSplitter("text", [len(row) for side in ids for row in side], forth, joined, back)


@dataclass(eq=False)
class _Part:
    """Texts of one side: 0, contexts, or 1, candidates; and their vectors, whose graph may have been kept."""

    side: int
    texts: list[int]
    kept: bool = False
    vectors: Tensor = field(default_factory=lambda: torch.empty(0))
    random: list[Tensor] = field(default_factory=list)


def _sides(piece: Sequence[int], contexts: int) -> list[_Part]:
    """A piece of texts, contexts before candidates, as what is encoded at once."""
    sides = [i for i in piece if i < contexts], [i - contexts for i in piece if i >= contexts]
    return [_Part(side, texts) for side, texts in enumerate(sides) if texts]


def _laid(parts: Sequence[_Part], side: int) -> Float[Tensor, "M ..."]:
    """The vectors of one side in the order of its texts."""
    own = [part for part in parts if part.side == side]
    laid = torch.cat([part.vectors for part in own]).detach()
    return laid[torch.argsort(torch.tensor([i for part in own for i in part.texts])).to(laid.device)]


def _above(
    asked: _Asked, batch: Batch, contexts: Float[Tensor, "N m D"], candidates: Float[Tensor, "M D"]
) -> tuple[float, tuple[Tensor, Tensor]]:
    """The loss, with the rows of all processes, and its gradient by this one's contexts and candidates."""
    columns, own = len(asked.batch.texts) - 1, asked.processes.own(len(contexts))
    found = (
        score_candidates(contexts, candidates) if asked.objective.ALL_PAIRS else _each(contexts, candidates, columns)
    )
    loss = asked.back(asked.losses(found, batch).mean())
    assert contexts.grad is not None and candidates.grad is not None
    return loss, (contexts.grad[own], torch.cat([part[own] for part in candidates.grad.chunk(columns)]))


def _each(contexts: Float[Tensor, "N m D"], candidates: Float[Tensor, "M D"], columns: int) -> Float[Tensor, "N P 1"]:
    """The scores of each context with its own candidates."""
    return score_own_candidates(contexts, torch.stack(candidates.chunk(columns), dim=1)).unsqueeze(2)


def _exact(found: Tensor) -> Tensor:
    """In single precision at least."""
    return found if found.dtype == torch.float64 else found.float()


def _size(pair: Contents) -> int:
    return len(pair[0]) + len(pair[1])


def _counted(labels: int) -> str:
    return "one label" if labels == 1 else f"{labels} labels"
