"""One step back of a reranker: the gradient of a batch as a whole, in pieces where it must fit.

A cross-encoder reads pairs, and the loss is a mean over rows: a piece is some rows, forward and back at once. A
poly-encoder reads texts apart: its graph is cut at their vectors, as an embedder's is (`step`), so that every context
meets every candidate of the batch, however small the pieces.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from ..errors import BadInput
from ..ragged import Ragged
from ..reranker import CrossEncoder, PolyEncoder, Reranker
from ..reranker.cross import Contents
from ..reranker.poly import meet, meet_own
from .again import Budget, Pieces, Took, random_states, set_random, until_it_fits
from .objectives import Objective, Reranking
from .processes import ALONE, Processes
from .rows import Batch
from .step import beside

Attempt = Callable[[Pieces], float]


def fit(reranker: Reranker, objective: Objective) -> None:
    """Refuses an objective that the reranker cannot be trained with.

    Raises:
        BadInput: it is one for vectors, wants other labels, or reads more pairs than a cross-encoder can.
    """
    kind, name = type(reranker).__name__, type(objective).__name__
    if not isinstance(objective, Reranking):
        raise BadInput(f"{name} is for the vectors of an embedder, and this is a {kind}; see RERANKING for its kin")
    if len(reranker.labels) != objective.labels:
        raise BadInput(
            f"{name} wants {_counted(objective.labels)}, and the {kind} has {len(reranker.labels)} "
            f"({', '.join(list(reranker.labels)[:5])}): begin one with Reranker.start(…, labels={objective.labels})"
        )
    if objective.CROSSED and not isinstance(reranker, PolyEncoder):
        raise BadInput(
            f"{name} scores every first text with every candidate, which a {kind} reads one by one: wanted a "
            "PolyEncoder, or PairRanking with columns of negatives"
        )


def backward(
    reranker: Reranker,
    objective: Reranking,
    batch: Batch,
    *,
    budget: Budget | None = None,
    dtype: torch.dtype | None = None,
    share: float = 1.0,
    processes: Processes = ALONE,
) -> Took:
    """Adds the gradient of `share` × the mean of the rows' losses to that of the parameters; as `step.backward` does.

    Raises:
        OutOfMemory: one row of a cross-encoder, one text of a poly-encoder, does not fit.
    """
    step = _Step(objective, batch, dtype, share, processes)
    if isinstance(reranker, PolyEncoder):
        lengths, attempt, what = *_apart(reranker, step), "text"
    else:
        assert isinstance(reranker, CrossEncoder)
        lengths, attempt, what = *_together(reranker, step), "row"
    return until_it_fits([reranker], reranker.device, lengths, budget, attempt, what)


def logits(
    reranker: CrossEncoder, contents: Sequence[Contents], dtype: torch.dtype | None = None
) -> Float[Tensor, "n C"]:
    """Of pairs of ids in the order given, packed by falling length; in `dtype` where it is given."""
    order = sorted(range(len(contents)), key=lambda i: -_size(contents[i]))
    with torch.autocast(reranker.device.type, dtype, enabled=dtype is not None):
        found: Tensor = reranker(reranker.packed([contents[i] for i in order]))
    return _exact(found)[torch.argsort(torch.tensor(order)).to(found.device)]


@dataclass(frozen=True, eq=False)
class _Step:
    """What `backward` was asked for."""

    objective: Reranking
    batch: Batch
    dtype: torch.dtype | None
    share: float
    processes: Processes

    def losses(self, found: Tensor, batch: Batch) -> Float[Tensor, " N"]:
        """Of the rows of this batch, whose logits or scores were found."""
        more = {name: beside(found, values) for name, values in batch.numbers.items()}
        if self.objective.reads().names:
            more["names"] = batch.names.to(found.device)
        losses: Tensor = self.objective(found, **more)
        return losses

    def back(self, loss: Float[Tensor, ""]) -> float:
        """Adds its gradient."""
        (loss * self.share).backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())


def _together(reranker: CrossEncoder, step: _Step) -> tuple[list[int], Attempt]:
    """Tokens of each row, and what makes a step of rows in pieces."""
    batch, rows = step.batch, len(step.batch)
    first, *others = batch.texts
    contents = reranker.contents([pair for other in others for pair in zip(first, other, strict=True)])
    whole = rows * step.processes.count

    def attempt(pieces: Pieces) -> float:
        total = 0.0
        for piece in pieces:
            pairs = [pair for i in piece for pair in contents[i::rows]]
            found = logits(reranker, pairs, step.dtype).view(len(piece), len(others), -1)
            total += step.back(step.losses(found, batch.take(piece)).sum() / whole)
        return _added(total, step.processes, reranker.device)

    specials = reranker.tokenizer.pair.specials
    return [sum(_size(pair) + specials for pair in contents[i::rows]) for i in range(rows)], attempt


def _apart(reranker: PolyEncoder, step: _Step) -> tuple[list[int], Attempt]:
    """Tokens of each text, contexts before candidates, and what makes a step of texts in pieces."""
    first, *others = step.batch.texts
    ids = (reranker.context_ids(first), reranker.candidate_ids([text for column in others for text in column]))
    make, device = (reranker.contexts, reranker.candidates), reranker.device

    def vectors(part: _Part) -> Tensor:
        with torch.autocast(device.type, step.dtype, enabled=step.dtype is not None):
            return _exact(make[part.side](Ragged.of([ids[part.side][i] for i in part.texts], device)))

    def attempt(pieces: Pieces) -> float:
        parts = [part for piece in pieces for part in _sides(piece, len(first))]
        cached = len(pieces) > 1
        states, made = [], []
        with torch.set_grad_enabled(not cached):
            for part in parts:
                states.append(random_states(device))
                made.append(vectors(part))
        loss, gradients = _above(step, *(_laid(parts, made, side) for side in range(2)))
        after = random_states(device)
        for part, state, found in zip(parts, states, made, strict=True):
            if cached:
                set_random(state, device)  # the same words are dropped as when the vectors were made
                found = vectors(part)
            found.backward(gradients[part.side][list(part.texts)])  # type: ignore[no-untyped-call]
        set_random(after, device)
        return loss

    return [len(row) for side in ids for row in side], attempt


@dataclass(frozen=True)
class _Part:
    """Texts of one side: 0, contexts, or 1, candidates."""

    side: int
    texts: tuple[int, ...]


def _sides(piece: Sequence[int], contexts: int) -> list[_Part]:
    """A piece of texts, contexts before candidates, as what is encoded at once."""
    sides = tuple(i for i in piece if i < contexts), tuple(i - contexts for i in piece if i >= contexts)
    return [_Part(side, texts) for side, texts in enumerate(sides) if texts]


def _laid(parts: Sequence[_Part], made: Sequence[Tensor], side: int) -> Float[Tensor, "M ..."]:
    """The vectors of one side in the order of its texts."""
    order = torch.tensor([i for part in parts if part.side == side for i in part.texts])
    laid = torch.cat([vectors for part, vectors in zip(parts, made, strict=True) if part.side == side]).detach()
    return laid[torch.argsort(order).to(laid.device)]


def _above(
    step: _Step, contexts: Float[Tensor, "n m D"], candidates: Float[Tensor, "k D"]
) -> tuple[float, tuple[Tensor, Tensor]]:
    """The loss, with the rows of all processes, and its gradient by this one's contexts and candidates."""
    together, columns = step.processes.together, len(step.batch.texts) - 1
    queries = together(contexts).requires_grad_()
    answers = torch.cat([together(column) for column in candidates.chunk(columns)]).requires_grad_()
    found = meet(queries, answers) if step.objective.CROSSED else _each(queries, answers, columns)
    loss = step.back(step.losses(found, step.batch.together(step.processes)).mean())
    own = step.processes.own(len(queries))
    assert queries.grad is not None and answers.grad is not None
    return loss, (queries.grad[own], torch.cat([part[own] for part in answers.grad.chunk(columns)]))


def _each(contexts: Float[Tensor, "N m D"], candidates: Float[Tensor, "M D"], columns: int) -> Float[Tensor, "N P 1"]:
    """The scores of each context with its own candidates."""
    return meet_own(contexts, torch.stack(candidates.chunk(columns), dim=1)).unsqueeze(2)


def _added(loss: float, processes: Processes, device: torch.device) -> float:
    """The sum of what each process has."""
    if processes.count == 1:
        return loss
    return float(processes.together(torch.tensor([loss], dtype=torch.float64, device=device)).sum())


def _exact(found: Tensor) -> Tensor:
    """In single precision at least."""
    return found if found.dtype == torch.float64 else found.float()


def _size(pair: Contents) -> int:
    return len(pair[0]) + len(pair[1])


def _counted(labels: int) -> str:
    return "one label" if labels == 1 else f"{labels} labels"
