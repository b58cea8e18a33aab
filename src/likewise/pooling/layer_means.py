"""The mean of some layers as a pooling, in torch: token vectors are averaged over layers, then reduced."""

from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Float
from torch import Tensor

from ..arrays.layer_means import LayerMeanSettings
from ..arrays.ragged import Layers, Ragged
from .reductions import Reduce


@dataclass(frozen=True)
class LayerMean(LayerMeanSettings):
    """The mean of some layers, by name `"mean:layers=0+6"`; blocks above the last of them are not run."""

    def __call__(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N E"]:
        total: Tensor | None = None
        for number, x in enumerate(islice(layers, self.layers[-1] + 1)):
            if number in self.layers:
                exact = x.to(torch.promote_types(x.dtype, torch.float32))
                total = exact if total is None else total + exact
        assert total is not None  # there is a layer (`__post_init__`), and the encoder has it (`check`)
        return Reduce(self.reduce)(iter([total / len(self.layers)]), tokens)
