"""A model whose vectors are those of several of its layers side by side, for objectives that train them all."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..embedder import Embedder
from ..errors import BadInput
from ..pooling import Stack
from .fusion import reduction


class Each(nn.Module):
    """The heads, applied to each of the parts that lie side by side."""

    def __init__(self, heads: nn.Module, parts: int) -> None:
        super().__init__()
        self.heads, self.parts = heads, parts

    def forward(self, x: Float[Tensor, "N F"]) -> Float[Tensor, "N E"]:
        return torch.cat([self.heads(part) for part in x.chunk(self.parts, dim=1)], dim=1)


def layered(embedder: Embedder, layers: int) -> Embedder:
    """The same weights, read out after each of the last `layers` layers: train this one, and the embedder is trained.

    >>> train(layered(embedder, 4), [Course(rows, Layerwise(Contrastive(), 4))])  # doctest: +SKIP

    Then `likewise.encoders.cut` makes the models that end early. The layer under the first block counts as one.
    """
    depth = embedder.encoder.depth
    if not 1 <= layers <= depth + 1:
        raise BadInput(f"{layers} layers were asked for; the model has {depth + 1}")
    stack = Stack(reduction(embedder), depth + 1 - layers, depth)
    heads = Each(embedder.heads, layers)
    return Embedder(embedder.tokenizer, embedder.encoder, stack, heads, embedder.manifest).to(embedder.device)
