"""One training step of an embedder: all columns of a batch in one forward pass, or in parts that fit into memory.

The graph is cut at the vectors. Above the cut is the loss part: the objective, with all rows of the batch (and of all
processes). Below it is the encoder part, which can go forward and backward a part at a time, for any objective
(GradCache, Gao et al. 2021). Whether it does is a matter of memory alone.
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
from ..objectives import Objective, RerankerObjective, pad_token_ids
from . import seeding
from .memory import SplittableStep, StepOptions, StepParts, StepResult, retry_smaller

TokenIds = Sequence[Sequence[int]]


def check_embedder_objective(embedder: TorchEmbedder, objective: Objective) -> None:
    """Fit the objective to the embedder: create the objective's own weights, and refuse what does not fit."""
    if isinstance(objective, RerankerObjective):
        raise BadInput(f"{type(objective).__name__} is for a reranker, and this is an embedder; see OBJECTIVES")
    objective.initialize(embedder_for_objective(objective, embedder).dimension, embedder.encoder.vocabulary)


def embedder_backward(
    embedder: TorchEmbedder, objective: Objective, batch: Batch, options: StepOptions | None = None
) -> StepResult:
    """Add the gradient of `options.loss_scale` × the objective to that of the parameters.

    The embedder may be in training mode or not. The objective has been fitted to it (`trainable.check_objective`). Of
    several processes, each gets its part of the embedder's gradient, to be summed (`Processes.sum_gradients`); the
    gradient of the objective's own parameters is whole.

    Where memory runs out, this process halves its token budget and repeats the step (`memory`).
    """
    options = options or StepOptions()
    processes = options.processes
    ids, batch = tokenized_batch(embedder, objective, batch)
    lengths = [len(i) for i in ids]
    if not all(lengths):
        raise BadInput("a text has no tokens, and this model adds no special tokens around it")
    joined_batch, encoder = batch.gather(processes), embedder_for_objective(objective, embedder)

    def forward(parts: StepParts) -> tuple["_EncoderPart", Tensor]:
        encoder_part = _EncoderPart(encoder, ids, parts, options.dtype)
        return encoder_part, encoder_part.forward()

    def gather(outputs: tuple["_EncoderPart", Tensor]) -> tuple["_EncoderPart", list[Tensor]]:
        encoder_part, vectors = outputs
        return encoder_part, [processes.gather(column) for column in vectors.detach().chunk(len(batch.texts))]

    def backward(outputs: tuple["_EncoderPart", list[Tensor]]) -> float:
        encoder_part, columns = outputs
        loss, gradient = _loss_part(objective, columns, joined_batch, options)
        encoder_part.backward(gradient)
        return loss

    step = SplittableStep("text", lengths, forward, gather, backward)
    return retry_smaller(embedder, objective, step, options.token_budget, processes)


def embedder_tokens(embedder: TorchEmbedder, objective: Objective, batch: Batch) -> int:
    """How many tokens a step on the batch reads."""
    return sum(len(ids) for ids in tokenized_batch(embedder, objective, batch)[0])


def tokenized_batch(embedder: TorchEmbedder, objective: Objective, batch: Batch) -> tuple[list[list[int]], Batch]:
    """The token ids of each text, column after column: with special tokens, truncated to the model's maximum length.

    If the objective reads them, the batch gets the unchanged `token_ids` of its first column.
    """
    tokenizer = embedder.tokenizer
    prompt = embedder.default_prompt
    if prompt and not embedder.manifest.include_prompt:
        raise BadInput(
            "the model leaves its prompt out of the pooling, which is not supported in training; use no prompt"
        )
    texts = [prompt + text for column in batch.texts for text in column]
    contents = [content[: tokenizer.max_content_length] for content in tokenizer.token_ids(texts)]
    model_inputs = [tokenizer.with_special_tokens(objective.add_noise(content)) for content in contents]
    if objective.reads().token_ids:
        ids = pad_token_ids(
            [tokenizer.with_special_tokens(content) for content in contents[: len(batch)]], embedder.device
        )
        batch = Batch(batch.texts, {**batch.numbers, "token_ids": ids})
    return model_inputs, batch


def packed_forward(embedder: TorchEmbedder, ids: TokenIds, dtype: torch.dtype | None = None) -> Float[Tensor, "M E"]:
    """Vectors of M texts in the order given, packed by decreasing length; with autocast to `dtype` if given."""
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    original_position = torch.empty(len(ids), dtype=torch.int64)
    original_position[order] = torch.arange(len(ids))
    with torch.autocast(embedder.device.type, dtype, enabled=dtype is not None):
        vectors: Tensor = embedder(Ragged.of([ids[i] for i in order], embedder.device))
    vectors = vectors if vectors.dtype == torch.float64 else vectors.float()
    return vectors[original_position.to(vectors.device)]


def loss_of(objective: Objective, vectors: Float[Tensor, "M E"], batch: Batch) -> Float[Tensor, ""]:
    """The objective of a batch whose M = N·C vectors are stored column after column."""
    numbers = {name: like_vectors(vectors, values) for name, values in batch.numbers.items()}
    if objective.reads().text_ids:
        numbers["text_ids"] = batch.names.to(vectors.device)
    loss: Tensor = objective(*vectors.chunk(len(batch.texts)), **numbers)
    return loss


def like_vectors(vectors: Tensor, values: Tensor) -> Tensor:
    """The values on the vectors' device and in their precision; whole numbers stay whole numbers."""
    return values.to(vectors.device, vectors.dtype if values.is_floating_point() else values.dtype)


def backward_if_trained(vectors: Tensor, gradient: Tensor) -> None:
    """Go backward from the vectors; nothing is to be done where all weights below them are frozen."""
    if vectors.requires_grad:
        vectors.backward(gradient)  # type: ignore[no-untyped-call]


@dataclass
class _EncoderPart:
    """Below the cut: forward to the vectors of M texts, and backward from their gradient, in one part or several."""

    embedder: TorchEmbedder
    ids: TokenIds
    parts: StepParts
    dtype: torch.dtype | None
    vectors: Tensor | None = None  # with their graph, where there is only one part
    generators: list[list[Tensor]] = field(default_factory=list)  # states before each part

    def forward(self) -> Float[Tensor, "M E"]:
        if len(self.parts) == 1:
            self.vectors = packed_forward(self.embedder, self.ids, self.dtype)
            return self.vectors
        outputs = []
        with torch.no_grad():
            for part in self.parts:
                self.generators.append(seeding.generator_states(self.embedder.device))
                outputs.append(self._forward_part(part))
        order = torch.tensor([i for part in self.parts for i in part])
        vectors = torch.cat(outputs)
        return vectors[torch.argsort(order).to(vectors.device)]

    def backward(self, gradient: Float[Tensor, "M E"]) -> None:
        if self.vectors is not None:
            backward_if_trained(self.vectors, gradient)
            return
        device = self.embedder.device
        generators_after = seeding.generator_states(device)
        for part, states in zip(self.parts, self.generators, strict=True):
            seeding.restore_generators(states, device)  # dropout drops the same words as in the forward pass
            backward_if_trained(self._forward_part(part), gradient[part])
        seeding.restore_generators(generators_after, device)

    def _forward_part(self, part: list[int]) -> Tensor:
        return packed_forward(self.embedder, [self.ids[i] for i in part], self.dtype)


def _loss_part(
    objective: Objective, columns: Sequence[Tensor], batch: Batch, options: StepOptions
) -> tuple[float, Tensor]:
    """The loss, and its gradient by this process's vectors; the objective's own parameters get theirs."""
    leaf = torch.cat(list(columns)).requires_grad_()
    loss = loss_of(objective, leaf, batch)
    (loss * options.loss_scale).backward()  # type: ignore[no-untyped-call]
    gradient = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
    local = options.processes.local_rows(len(columns[0]))
    return float(loss.detach()), torch.cat([part[local] for part in gradient.chunk(len(columns))])
