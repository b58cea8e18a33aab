"""A model whose vectors concatenate those of several of its layers, for objectives that train all of them.

Training builds it for any objective that reads layers (`embedder_for_objective`); what is evaluated and saved is the
model itself. `likewise.encoders.prune_layers` then builds the models with fewer layers.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput
from ...pooling import Reduce, Stack
from ..objectives import Objective


class HeadsPerLayer(nn.Module):
    """The heads, applied to the vector of each layer."""

    def __init__(self, heads: nn.Module, parts: int) -> None:
        super().__init__()
        self.heads, self.parts = heads, parts

    def forward(self, x: Float[Tensor, "N F"]) -> Float[Tensor, "N E"]:
        return torch.cat([self.heads(part) for part in x.chunk(self.parts, dim=1)], dim=1)


def multi_layer_embedder(embedder: TorchEmbedder, layers: int) -> TorchEmbedder:
    """The same weights with the vectors of each of the last `layers` layers: training it trains the embedder.

    The embeddings below the first block count as a layer.
    """
    depth, pooling = embedder.encoder.depth, embedder.pooling
    if not 1 <= layers <= depth + 1:
        raise BadInput(f"layers is {layers}; the model has {depth + 1} layers, with the embeddings")
    if not isinstance(pooling, Reduce):
        raise BadInput(
            f"the pooling {pooling.spec} has no vector for each layer; expected one of a single layer: cls, mean, max …"
        )
    stack = Stack(pooling, depth + 1 - layers, depth)
    return TorchEmbedder(
        embedder.tokenizer, embedder.encoder, stack, HeadsPerLayer(embedder.heads, layers), embedder.manifest
    )


def embedder_for_objective(objective: Objective, embedder: TorchEmbedder) -> TorchEmbedder:
    """The embedder with the vectors that the objective reads: its own, or those of its last layers."""
    layers = objective.layers_read()
    if not layers:
        return embedder
    if not isinstance(embedder.heads, HeadsPerLayer):
        return multi_layer_embedder(embedder, layers)
    if embedder.heads.parts != layers:
        raise BadInput(f"the model has vectors of {embedder.heads.parts} layers, and the objective reads {layers}")
    return embedder
