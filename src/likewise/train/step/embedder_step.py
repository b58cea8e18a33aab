"""One step back: every column of a batch in one forward pass, and the same gradient in pieces where it must fit.

The graph is cut at the vectors. Above the cut is the objective, with all rows of the batch (and of all processes);
below it is the encoder, which can go forward and back a piece at a time, for any objective (GradCache, Gao et al.
2021). Whether it does is a matter of memory alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from ...arrays.ragged import Ragged
from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput
from ..data.batch import Batch
from ..layers.multi_layer import embedder_for_objective
from ..objectives import Objective, pad_token_ids
from . import seeding
from .memory import PartSplitter, StepParts, StepResult, TokenBudget, retry_smaller
from .processes import SINGLE_PROCESS, Processes

Ids = Sequence[Sequence[int]]


def tokenized(embedder: TorchEmbedder, objective: Objective, batch: Batch) -> tuple[list[list[int]], Batch]:
    """What the model is shown of each text, column after column: ids with the special ones, what is too long cut.

    The batch is given the whole `ids` of its first column, if the objective reads them.
    """
    tokenizer = embedder.tokenizer
    lead = embedder.default_prompt
    if lead and not embedder.manifest.include_prompt:
        raise BadInput("the model's prompt is read and left out of the pooling, which training does not do; use none")
    texts = [lead + text for column in batch.texts for text in column]
    contents = [content[: tokenizer.room] for content in tokenizer.contents(texts)]
    shown = [tokenizer.framed(objective.add_noise(content)) for content in contents]
    if objective.reads().token_ids:
        ids = pad_token_ids([tokenizer.framed(content) for content in contents[: len(batch)]], embedder.device)
        batch = Batch(batch.texts, {**batch.numbers, "token_ids": ids})
    return shown, batch


def forward(embedder: TorchEmbedder, ids: Ids, dtype: torch.dtype | None = None) -> Float[Tensor, "M E"]:
    """Vectors of M texts in the order given, packed by falling length; in `dtype` where it is given."""
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    back = torch.empty(len(ids), dtype=torch.int64)
    back[order] = torch.arange(len(ids))
    with torch.autocast(embedder.device.type, dtype, enabled=dtype is not None):
        vectors: Tensor = embedder(Ragged.of([ids[i] for i in order], embedder.device))
    return vectors.float()[back.to(vectors.device)] if vectors.dtype != torch.float64 else vectors[back]


def loss_of(objective: Objective, vectors: Float[Tensor, "M E"], batch: Batch) -> Float[Tensor, ""]:
    """The objective of a batch whose M = N·C vectors lie column after column."""
    more = {name: side_by_side(vectors, values) for name, values in batch.numbers.items()}
    if objective.reads().text_ids:
        more["text_ids"] = batch.names.to(vectors.device)
    loss: Tensor = objective(*vectors.chunk(len(batch.texts)), **more)
    return loss


def side_by_side(vectors: Tensor, values: Tensor) -> Tensor:
    """Where the vectors are, and as exact; whole numbers stay whole."""
    return values.to(vectors.device, vectors.dtype if values.is_floating_point() else values.dtype)


def embedder_backward(
    embedder: TorchEmbedder,
    objective: Objective,
    batch: Batch,
    *,
    budget: TokenBudget | None = None,
    dtype: torch.dtype | None = None,
    share: float = 1.0,
    processes: Processes = SINGLE_PROCESS,
) -> StepResult:
    """Adds the gradient of `share` × the objective to that of the parameters.

    Args:
        embedder: in training mode or not, as the caller likes.
        objective: already brought together with the embedder (`trainable.fit`).
        batch: N rows.
        budget: tokens that may be in flight; without one, all are.
        dtype: of autocast, bfloat16 say; None is fp32 throughout.
        share: the loss is multiplied by it, where several batches make one step.
        processes: the batch is this one's part; the loss is that of all parts together. Gradients of the embedder
            are its own part of the whole, to be added up (`Processes.add_up`); those of the objective are whole.

    Where memory runs out, this process halves its budget and makes the step again (`fitting`).

    Raises:
        OutOfMemory: one single text does not fit.
    """
    ids, batch = tokenized(embedder, objective, batch)
    lengths = [len(i) for i in ids]
    if not all(lengths):
        raise BadInput("a text has no tokens, and this model puts no special ones around it")
    whole, as_read = batch.together(processes), embedder_for_objective(objective, embedder)

    def forth(pieces: StepParts) -> tuple["_Below", Tensor]:
        below = _Below(as_read, ids, pieces, dtype)
        return below, below.forth()

    def joined(made: tuple["_Below", Tensor]) -> tuple["_Below", list[Tensor]]:
        below, vectors = made
        return below, [processes.together(column) for column in vectors.detach().chunk(len(batch.texts))]

    def back(made: tuple["_Below", list[Tensor]]) -> float:
        below, columns = made
        loss, gradient = _above(objective, columns, whole, share, processes)
        below.back(gradient)
        return loss

    parts = PartSplitter("text", lengths, forth, joined, back)
    return retry_smaller(embedder, parts, budget or TokenBudget(), objective, processes)


@dataclass
class _Below:
    """What lies below the cut: forward to the vectors of M texts, and back from their gradient, in pieces or not."""

    embedder: TorchEmbedder
    ids: Ids
    pieces: list[list[int]]
    dtype: torch.dtype | None
    vectors: Tensor | None = None  # with their graph, where there is but one piece
    states: list[list[Tensor]] = field(default_factory=list)

    def forth(self) -> Float[Tensor, "M E"]:
        if len(self.pieces) == 1:
            self.vectors = forward(self.embedder, self.ids, self.dtype)
            return self.vectors
        parts = []
        with torch.no_grad():
            for piece in self.pieces:
                self.states.append(seeding.states(self.embedder.device))
                parts.append(self._piece(piece))
        order = torch.tensor([i for piece in self.pieces for i in piece])
        vectors = torch.cat(parts)
        return vectors[torch.argsort(order).to(vectors.device)]

    def back(self, gradient: Float[Tensor, "M E"]) -> None:
        if self.vectors is not None:
            self.vectors.backward(gradient)  # type: ignore[no-untyped-call]
            return
        after = seeding.states(self.embedder.device)
        for piece, state in zip(self.pieces, self.states, strict=True):
            seeding.restore_states(
                state, self.embedder.device
            )  # the same words are dropped as when the vectors were made
            self._piece(piece).backward(gradient[piece])  # type: ignore[no-untyped-call]
        seeding.restore_states(after, self.embedder.device)

    def _piece(self, piece: list[int]) -> Tensor:
        return forward(self.embedder, [self.ids[i] for i in piece], self.dtype)


def _above(
    objective: Objective, columns: Sequence[Tensor], batch: Batch, share: float, processes: Processes
) -> tuple[float, Tensor]:
    """The loss, and its gradient by this process's vectors; the objective's own parameters get theirs."""
    leaf = torch.cat(list(columns)).requires_grad_()
    loss = loss_of(objective, leaf, batch)
    (loss * share).backward()  # type: ignore[no-untyped-call]
    gradient = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
    own = processes.own(len(columns[0]))
    return float(loss.detach()), torch.cat([part[own] for part in gradient.chunk(len(columns))])
