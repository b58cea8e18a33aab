"""One training step of an embedder: all columns of a batch in one forward pass, or in parts (`memory.cut_step`)."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from ...array_types import Float
from ...arrays.ragged import Ragged
from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput
from ...pooling import Reduce, Stack
from ...reranker.poly_encoder import at_least_single
from ..data.batch import Batch
from ..objectives import Objective, RerankerObjective
from ..objectives.denoising import pad_token_ids
from .memory import SplittableStep, StepOptions, cut_step

TokenIds = Sequence[Sequence[int]]


def check_embedder_objective(embedder: TorchEmbedder, objective: Objective) -> None:
    """Prepare the objective for the embedder: create the objective's own weights, and reject mismatches."""
    if isinstance(objective, RerankerObjective):
        raise BadInput(f"{type(objective).__name__} is for a reranker, but this is an embedder; use one of OBJECTIVES")
    objective.initialize(embedder_for_objective(objective, embedder).dimension, embedder.encoder.vocabulary)


def embedder_step(embedder: TorchEmbedder, objective: Objective, batch: Batch, options: StepOptions) -> SplittableStep:
    """A training step whose graph is cut at the vectors.

    With several processes, each one computes the whole gradient of the objective's own parameters, but only its part of
    the embedder's gradient; `Processes.sum_gradients` adds up the parts.
    """
    ids, batch = tokenized_batch(embedder, objective, batch)
    lengths = [len(i) for i in ids]
    if not all(lengths):
        raise BadInput("a text has no tokens, and this model adds no special tokens around it")
    joined_batch, encoder = batch.gather(options.processes), embedder_for_objective(objective, embedder)
    return cut_step(
        lengths,
        [len(batch.texts)],
        lambda _, texts: packed_forward(encoder, [ids[i] for i in texts], options.dtype),
        lambda vectors: loss_of(objective, vectors, joined_batch),
        embedder.device,
        options,
    )


def tokenized_batch(embedder: TorchEmbedder, objective: Objective, batch: Batch) -> tuple[list[list[int]], Batch]:
    """The token ids of each text, column by column, with special tokens, truncated to the model's maximum length.

    If the objective reads token ids, the batch gets the `token_ids` of its first column, without noise.
    """
    tokenizer = embedder.tokenizer
    default = embedder.default_prompt
    if (default or any(batch.prompts)) and not embedder.manifest.include_prompt:
        raise BadInput(
            "the model leaves prompts out of pooling, which training does not support; train without a prompt"
        )
    for prompt in {default if prompt is None else prompt for prompt in batch.prompts or (None,)} - {""}:
        tokenizer.room_after(tokenizer.token_ids([prompt])[0])
    texts = [text for column in batch.prompted(default) for text in column]
    contents = [content[: tokenizer.max_content_length] for content in tokenizer.token_ids(texts)]
    model_inputs = [tokenizer.with_special_tokens(objective.add_noise(content)) for content in contents]
    if objective.reads().token_ids:
        ids = pad_token_ids(
            [tokenizer.with_special_tokens(content) for content in contents[: len(batch)]], embedder.device
        )
        batch = replace(batch, numbers={**batch.numbers, "token_ids": ids})
    return model_inputs, batch


def packed_forward(embedder: TorchEmbedder, ids: TokenIds, dtype: torch.dtype | None = None) -> Float[Tensor, "M E"]:
    """Vectors of M texts in the given order, packed by decreasing length, with autocast to `dtype` if given."""
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    with torch.autocast(embedder.device.type, dtype, enabled=dtype is not None):
        vectors: Tensor = embedder(Ragged.of([ids[i] for i in order], embedder.device))
    return at_least_single(vectors)[torch.argsort(torch.tensor(order)).to(vectors.device)]


def loss_of(objective: Objective, vectors: Float[Tensor, "M E"], batch: Batch) -> Float[Tensor, ""]:
    """The loss of a batch whose M = N·C vectors are stored column by column."""
    loss: Tensor = objective(*vectors.chunk(len(batch.texts)), **numbers_for(objective, batch, vectors))
    return loss


def numbers_for(objective: Objective, batch: Batch, like: Tensor) -> dict[str, Tensor]:
    """The numbers that the objective reads, on the device and in the precision of `like`; integers stay integers."""
    numbers = {
        name: values.to(like.device, like.dtype if values.is_floating_point() else values.dtype)
        for name, values in batch.numbers.items()
    }
    return numbers | ({"text_ids": batch.names.to(like.device)} if objective.reads().text_ids else {})


class HeadsPerLayer(nn.Module):
    """Applies the heads to the vector of each layer."""

    def __init__(self, heads: nn.Module, parts: int) -> None:
        super().__init__()
        self.heads, self.parts = heads, parts

    def forward(self, x: Float[Tensor, "N F"]) -> Float[Tensor, "N E"]:
        return torch.cat([self.heads(part) for part in x.chunk(self.parts, dim=1)], dim=1)


def multi_layer_embedder(embedder: TorchEmbedder, layers: int) -> TorchEmbedder:
    """A model with the same weights that returns vectors of each of the last `layers` layers; training it trains both.

    The embeddings below the first block count as a layer.
    """
    depth, pooling = embedder.encoder.depth, embedder.pooling
    if not 1 <= layers <= depth + 1:
        raise BadInput(f"layers is {layers}; the model has {depth + 1} layers, including the embeddings")
    if not isinstance(pooling, Reduce):
        raise BadInput(
            f"the pooling {pooling.spec} gives no vector per layer; expected pooling of one layer: cls, mean, max …"
        )
    stack = Stack(pooling, depth + 1 - layers, depth)
    return TorchEmbedder(
        embedder.tokenizer, embedder.encoder, stack, HeadsPerLayer(embedder.heads, layers), embedder.manifest
    )


def embedder_for_objective(objective: Objective, embedder: TorchEmbedder) -> TorchEmbedder:
    """The embedder, returning the vectors that the objective reads: its final ones, or those of its last layers."""
    layers = objective.layers_read()
    return multi_layer_embedder(embedder, layers) if layers else embedder
