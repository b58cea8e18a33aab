"""Pooling methods that reduce tokens (cls, mean, max …, alone or combined), on the last layer or a mean of layers."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from ..array_types import Float
from ..arrays.layer_means import LayerMeanSettings
from ..arrays.ragged import Layers, Ragged
from ..arrays.reductions import REDUCTIONS, reduction_names

Reduction = Callable[[Float[Tensor, "T D"], Ragged], Float[Tensor, "N D"]]


SEGMENTS = ("cpu", "cuda")
"""Devices on which torch supports segment reductions; on others (Apple GPUs), tokens are reduced by index."""


def last(layers: Layers) -> Float[Tensor, "T D"]:
    """The last layer; earlier ones are not kept."""
    return deque(layers, maxlen=1)[0]


def cls(x: Float[Tensor, "T D"], tokens: Ragged) -> Float[Tensor, "N D"]:
    return x[tokens.offsets[:-1].long()]


def last_token(x: Float[Tensor, "T D"], tokens: Ragged) -> Float[Tensor, "N D"]:
    return x[tokens.offsets[1:].long() - 1]


def total(x: Float[Tensor, "T D"], tokens: Ragged) -> Float[Tensor, "N D"]:
    """The sum of a sentence's vectors, computed in fp32 or better."""
    exact = x.to(torch.promote_types(x.dtype, torch.float32))
    if x.device.type in SEGMENTS:
        return torch.segment_reduce(exact, "sum", lengths=tokens.counts)
    return exact.new_zeros(len(tokens), x.shape[1]).index_add(0, tokens.sentence, exact)


def mean(x: Float[Tensor, "T D"], tokens: Ragged) -> Float[Tensor, "N D"]:
    """The mean over all tokens, special ones included (Reimers and Gurevych 2019, MEAN)."""
    return total(x, tokens) / tokens.counts[:, None]


def mean_sqrt_len(x: Float[Tensor, "T D"], tokens: Ragged) -> Float[Tensor, "N D"]:
    return total(x, tokens) / tokens.counts[:, None].sqrt()


def weighted_mean(x: Float[Tensor, "T D"], tokens: Ragged) -> Float[Tensor, "N D"]:
    """The mean with weights 1, 2, 3 …: later tokens count more (Muennighoff 2022)."""
    weights = (tokens.position + 1).to(x.dtype if x.dtype == torch.float64 else torch.float32)
    return total(x * weights[:, None], tokens) / total(weights[:, None], tokens)


def maximum(x: Float[Tensor, "T D"], tokens: Ragged) -> Float[Tensor, "N D"]:
    if x.device.type in SEGMENTS:
        return torch.segment_reduce(x, "max", lengths=tokens.counts)
    index = tokens.sentence[:, None].expand_as(x)
    return x.new_full((len(tokens), x.shape[1]), -torch.inf).scatter_reduce(0, index, x, "amax")


def reduction(name: str) -> Reduction:
    """The function in this module that corresponds to a NumPy function: for example, `mean` to `numpy_mean`."""
    function: Reduction = globals()[REDUCTIONS[name].compute.__name__.removeprefix("numpy_")]
    return function


@dataclass(frozen=True)
class Reduce:
    """Pooling by one reduction (`"mean"`) or by several concatenated ones (`"cls+mean"`)."""

    names: tuple[str, ...]

    @classmethod
    def parse(cls, spec: str) -> "Reduce":
        return cls(reduction_names(spec))

    @property
    def spec(self) -> str:
        return "+".join(self.names)

    def width(self, encoder_width: int) -> int:
        return len(self.names) * encoder_width

    def __call__(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N E"]:
        x = last(layers)
        exact = torch.promote_types(x.dtype, torch.float32)
        return torch.cat([reduction(name)(x, tokens).to(exact) for name in self.names], dim=1)


@dataclass(frozen=True)
class LayerMean(LayerMeanSettings):
    """A reduction of the mean of several layers, `"mean:layers=0+6"`; blocks above the last of them are not run."""

    def __call__(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N E"]:
        total: Tensor | None = None
        for number, x in enumerate(islice(layers, self.layers[-1] + 1)):
            if number in self.layers:
                exact = x.to(torch.promote_types(x.dtype, torch.float32))
                total = exact if total is None else total + exact
        assert total is not None  # `__post_init__` requires a layer, and `check` ensures that the encoder has it
        return Reduce(self.reduce)(iter([total / len(self.layers)]), tokens)
