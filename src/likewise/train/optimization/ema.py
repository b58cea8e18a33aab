"""A running mean of weights (EMA): often better than the weights that the last batches pulled at."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ...encoders.torch_internals import lerp_each


class EMA:
    """mean ← d · mean + (1 − d) · weights after each step, where d = min(decay, (1 + step) / (10 + step)).

    The smaller d of the first steps lets go of where the weights began, as in TensorFlow's ExponentialMovingAverage.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], decay: float) -> None:
        self.weights, self.decay = weights, decay
        self.mean: dict[str, Tensor] = {name: p.detach().clone() for name, p in weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """After step 1, 2, …"""
        decay = min(self.decay, (1 + step) / (10 + step))
        lerp_each(list(self.mean.values()), [p.detach() for p in self.weights.values()], 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the model has the mean for its weights."""
        own = {name: p.detach().clone() for name, p in self.weights.items()}
        copy_weights(self.mean, self.weights)
        try:
            yield
        finally:
            copy_weights(own, self.weights)


@torch.no_grad()
def copy_weights(values: Mapping[str, Tensor], weights: Mapping[str, nn.Parameter]) -> None:
    """Each weight becomes the value of its name."""
    for name, weight in weights.items():
        weight.copy_(values[name])
