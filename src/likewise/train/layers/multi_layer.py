"""A model whose vectors are those of several of its layers side by side, for objectives that train them all.

Training makes it by itself, for whatever objective reads layers (`embedder_for_objective`); what is measured and saved is the
model. `likewise.encoders.prune_layers` then makes the models that end early.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput
from ...pooling import Reduce, Stack
from ..objectives import Objective


class HeadsPerLayer(nn.Module):
    """The heads, applied to each of the parts that lie side by side."""

    def __init__(self, heads: nn.Module, parts: int) -> None:
        super().__init__()
        self.heads, self.parts = heads, parts

    def forward(self, x: Float[Tensor, "N F"]) -> Float[Tensor, "N E"]:
        return torch.cat([self.heads(part) for part in x.chunk(self.parts, dim=1)], dim=1)


def multi_layer_embedder(embedder: TorchEmbedder, layers: int) -> TorchEmbedder:
    """The same weights, read out after each of the last `layers` layers: train this one, and the embedder is trained.

    The layer under the first block counts as one.

    Raises:
        BadInput: the model has not so many layers, or its pooling is not of the last layer alone.
    """
    depth, pooling = embedder.encoder.depth, embedder.pooling
    if not 1 <= layers <= depth + 1:
        raise BadInput(f"{layers} layers were asked for; the model has {depth + 1}")
    if not isinstance(pooling, Reduce):
        raise BadInput(
            f"a model whose pooling is {pooling.spec} has no vectors layer by layer; wanted cls, mean, max or their kin"
        )
    stack = Stack(pooling, depth + 1 - layers, depth)
    return TorchEmbedder(
        embedder.tokenizer, embedder.encoder, stack, HeadsPerLayer(embedder.heads, layers), embedder.manifest
    )


def embedder_for_objective(objective: Objective, embedder: TorchEmbedder) -> TorchEmbedder:
    """The embedder with the vectors that the objective reads: its own, or those of its last layers.

    Raises:
        BadInput: as `multi_layer_embedder`; or the embedder gives other layers already.
    """
    layers = objective.layers_read()
    if not layers:
        return embedder
    if not isinstance(embedder.heads, HeadsPerLayer):
        return multi_layer_embedder(embedder, layers)
    if embedder.heads.parts != layers:
        raise BadInput(f"the model gives {embedder.heads.parts} layers, and the objective reads {layers}")
    return embedder
