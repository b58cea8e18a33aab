"""What an encoder is: a module whose call is an iterator of hidden states, first to last.

Layers as an iterator is the choice from which most simplicity flows: a pooling that reads the last one keeps one, a
pooling over all layers takes them as they come, and one that stops at layer 4 runs four blocks and no more.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ..arrays.ragged import Ragged


class Encoder(nn.Module):
    """Tokens to layers: the embeddings, then the output of each block, computed as they are asked for."""

    config: dict[str, Any]
    """The config.json that it was made from."""
    width: int
    """D, the width of a hidden state."""
    depth: int
    """Blocks; an encoder yields one layer more than it has blocks."""
    nested: bool = True
    """Whether the layers of the encoder cut at k (`cut`) are just its first k + 1 layers."""
    vocabulary: int
    """Rows of the table of words: ids lie below."""
    longest: int
    """The most tokens that one sentence may have."""
    can_recompute: bool = False
    """Whether its blocks go `through`, so that `recomputes` means something."""
    recomputes: bool = False
    """With gradients: whether only what goes between blocks is remembered, and their insides computed again."""

    def through(self, block: nn.Module, x: Float[Tensor, "T D"], *more: Any) -> Float[Tensor, "T D"]:
        """The block's output, its insides remembered or not."""
        if self.recomputes and torch.is_grad_enabled():
            again: Tensor = checkpoint(block, x, *more, use_reentrant=False)  # type: ignore[no-untyped-call]
            return again
        out: Tensor = block(x, *more)
        return out

    def block(self, i: int) -> nn.Module:
        """The block at depth i."""
        raise TypeError(f"{type(self).__name__} does not tell its blocks apart; {i} was expected")

    def units(self, tokens: Ragged) -> Ragged:
        """What the layers have a row for: the tokens, unless an encoder makes one vector of several of them."""
        return tokens

    def forward(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        """The layers.

        On a CPU, where products go through oneDNN, tokens are rounded up: it makes and keeps code for every number of
        rows that it meets, half a megabyte and some milliseconds a product, and keeps a thousand of them. That is
        without gradients, and in bf16. In fp32, training has other products, and is not rounded, with gradients or
        without: which words are dropped hangs on how many there are.
        """
        trains = torch.is_grad_enabled() or self.training
        rounds = tokens.values.device.type == "cpu" and (torch.is_autocast_enabled("cpu") or not trains)
        for x in self.states(tokens.rounded() if rounds else tokens):
            yield x[: len(tokens.values)]

    def states(self, tokens: Ragged) -> Iterator[Float[Tensor, "T D"]]:
        """The layers of the tokens as they are."""
        raise TypeError(f"{type(self).__name__} does not say how it turns {len(tokens)} sentences into layers")
