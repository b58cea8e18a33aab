"""The base class of encoders: a module whose call returns an iterator of hidden states, first to last.

Returning the layers as an iterator keeps the rest simple: a pooling that reads the last layer keeps only that one in
memory, a pooling over all layers reads them as they are computed, and one that stops at layer 4 runs only four blocks.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ..array_types import Float
from ..arrays.ragged import Ragged
from .shapes import TransformerShape

UNBOUNDED = 1 << 20  # `longest` of encoders without position embeddings, or with relative ones: practically unlimited


class Encoder(nn.Module):
    """From tokens to layers: the embeddings, then the output of each block, computed lazily."""

    config: dict[str, Any]  # the content of the config.json that the encoder was built from
    width: int  # D, the width of a hidden state
    depth: int  # the number of blocks; an encoder yields one layer more than it has blocks
    nested: bool = True
    """Whether an encoder pruned to its first k blocks (`prune_layers`) yields exactly the first k + 1 layers."""
    vocabulary: int  # rows of the word embedding table: token ids must be below this
    longest: int  # the maximum number of tokens in one sentence
    can_recompute: bool = False  # whether the encoder calls its blocks by `through`, and so supports `recomputes`
    recomputes: bool = False
    """Gradient checkpointing: keep only the inputs of blocks, and recompute their activations in the backward pass."""

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
        """The units with a row in each layer: the tokens, unless the encoder merges several of them into one vector."""
        return tokens

    def forward(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        """The layers, as an iterator.

        On a CPU, where oneDNN computes the matrix products, the number of tokens is rounded up. oneDNN compiles code
        for every number of rows, which takes half a megabyte and a few milliseconds per product, and caches a thousand
        of them.
        This applies without gradients, and in bf16. Training in fp32 uses other kernels and is not rounded, with or
        without gradients, since the random numbers of dropout depend on the number of tokens.
        """
        trains = torch.is_grad_enabled() or self.training
        rounds = tokens.values.device.type == "cpu" and (torch.is_autocast_enabled("cpu") or not trains)
        for x in self.states(tokens.rounded() if rounds else tokens):
            yield x[: len(tokens.values)]

    def states(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        """The layers of the tokens, without rounding their number."""
        raise TypeError(f"{type(self).__name__} does not say how it turns {len(tokens)} sentences into layers")


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
