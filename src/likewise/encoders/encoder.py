"""The base class of encoders: a module whose call returns an iterator of hidden states, first to last.

Returning the layers as an iterator keeps the rest simple. A pooling method that reads only the last layer keeps only
that layer in memory, one that reads all layers reads them as they are computed, and one that stops at layer 4 runs only
four blocks.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ..array_types import Float
from ..arrays.ragged import Ragged
from .shapes import TransformerShape

UNBOUNDED = 1 << 20  # `longest` for encoders without absolute position embeddings: practically unlimited


class Encoder(nn.Module):
    """Maps tokens to layers: the embedding output, then the output of each block, computed lazily."""

    config: dict[str, Any]  # the contents of the config.json from which the encoder was built
    width: int  # D, the hidden size
    depth: int  # the number of blocks; an encoder yields `depth + 1` layers
    nested: bool = True
    """Whether an encoder pruned to its first k blocks (`prune_layers`) yields exactly the first k + 1 layers."""
    vocabulary: int  # the number of rows of the word embedding table; token ids must be lower
    longest: int  # the maximum number of tokens in one sentence
    can_recompute: bool = False  # whether the encoder calls its blocks with `through`, which `recomputes` requires
    recomputes: bool = False
    """Gradient checkpointing: keep only the inputs of blocks, and recompute activations in the backward pass."""

    def through(self, block: nn.Module, x: Float[Tensor, "T D"], *more: Any) -> Float[Tensor, "T D"]:
        """The block's output, with gradient checkpointing if `recomputes` is set."""
        if self.recomputes and torch.is_grad_enabled():
            output: Tensor = checkpoint(block, x, *more, use_reentrant=False)  # type: ignore[no-untyped-call]
            return output
        out: Tensor = block(x, *more)
        return out

    def block(self, i: int) -> nn.Module:
        raise TypeError(f"{type(self).__name__} has no separate blocks, but block {i} was requested")

    def units(self, tokens: Ragged) -> Ragged:
        """The units that have a row in each layer: tokens, unless the encoder merges several tokens into one vector."""
        return tokens

    def forward(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        """The layers, as an iterator.

        When oneDNN computes the matmuls on a CPU, the number of tokens is rounded up. oneDNN compiles code for every
        number of rows, which takes half a megabyte and a few milliseconds per matmul, and caches a thousand kernels.
        This applies without gradients, and in bf16. Training in fp32 uses other kernels and does not round, with or
        without gradients, because dropout's random numbers depend on the number of tokens.
        """
        trains = torch.is_grad_enabled() or self.training
        rounds = tokens.values.device.type == "cpu" and (torch.is_autocast_enabled("cpu") or not trains)
        for x in self.states(tokens.rounded() if rounds else tokens):
            yield x[: len(tokens.values)]

    def states(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        """The layers of the tokens, without rounding their number."""
        raise TypeError(f"{type(self).__name__} must define `states` to map {len(tokens)} sentences to layers")


class Transformer(Encoder):
    """An encoder of blocks, with the sizes of a `TransformerShape`."""

    can_recompute = True
    blocks: nn.ModuleList

    def __init__(self, shape: TransformerShape) -> None:
        super().__init__()
        self.width, self.depth = shape.width, shape.depth
        self.vocabulary, self.longest = shape.vocabulary, shape.longest

    def block(self, i: int) -> nn.Module:
        return self.blocks[i]
