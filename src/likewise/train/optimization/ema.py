"""Exponential moving average (EMA) of weights: often better than the weights after the last batches."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ...encoders.torch_internals import lerp_each


class EMA:
    """mean ← d · mean + (1 − d) · weights after each step, where d = min(decay, (1 + step) / (10 + step)).

    The smaller d of the first steps forgets the initial weights sooner, as in TensorFlow's ExponentialMovingAverage.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], decay: float) -> None:
        self.weights, self.decay = weights, decay
        self.mean: dict[str, Tensor] = {name: p.detach().clone() for name, p in weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take the weights after step 1, 2, … into the average."""
        decay = min(self.decay, (1 + step) / (10 + step))
        lerp_each(list(self.mean.values()), [p.detach() for p in self.weights.values()], 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the model has the average as its weights."""
        current = {name: p.detach().clone() for name, p in self.weights.items()}
        copy_weights(self.mean, self.weights)
        try:
            yield
        finally:
            copy_weights(current, self.weights)


@torch.no_grad()
def copy_weights(values: Mapping[str, Tensor], weights: Mapping[str, nn.Parameter]) -> None:
    """Copy into each weight the value of its name."""
    for name, weight in weights.items():
        weight.copy_(values[name])
