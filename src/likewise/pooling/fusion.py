"""Learned dissection: a trained linear map over the pooled vectors of several layers, with the encoder frozen.

SBERT-WK (Wang and Kuo 2020) showed that layers hold different information and fused them by a fixed rule; here the rule
is learned (likewise/train/layers/fusion_training.py). Before training, it equals plain pooling of its last layer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..arrays.ragged import Layers, Ragged
from ..errors import BadModel
from ..module_registry import FusionShape, check_layer_range
from ..runtime.weight_files import read_tensors
from .reductions import Reduce


@dataclass(frozen=True)
class Stack:
    """The concatenated pooled vectors of layers `first` … `last` (0: the embeddings); later blocks are not run."""

    reduce: Reduce
    first: int
    last: int

    def __post_init__(self) -> None:
        check_layer_range(self.first, self.last)

    @property
    def spec(self) -> str:
        return f"{self.reduce.spec} of layers {self.first} to {self.last}"

    def width(self, encoder_width: int) -> int:
        return (self.last - self.first + 1) * self.reduce.width(encoder_width)

    def __call__(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N F"]:
        pooled = [self.reduce(iter([x]), tokens) for x in islice(layers, self.first, self.last + 1)]
        if len(pooled) != self.last - self.first + 1:
            raise BadModel(f"the pooling reads the {self.spec}, but the encoder has fewer layers")
        return torch.cat(pooled, dim=1)


class Fusion(nn.Module):
    """A linear map of a `Stack` of layers to one vector, initialized as plain pooling of the last layer."""

    def __init__(self, stack: Stack, encoder_width: int) -> None:
        super().__init__()
        self.stack, self.encoder_width = stack, encoder_width
        narrow, wide = self.shape.tensors["map.weight"]
        self.map = nn.Linear(wide, narrow, device="meta").to_empty(device="cpu")
        with torch.no_grad():
            self.map.weight.zero_()[:, -narrow:].fill_diagonal_(1)
            self.map.bias.zero_()

    @classmethod
    def read(cls, config: Mapping[str, Any], folder: Path, depth: int) -> "Fusion":
        shape = FusionShape.read(config, folder, depth)
        weights = read_tensors(folder, "the fusion", shape.tensors)  # compares shapes before allocating memory
        built = cls(Stack(Reduce(shape.reduce), shape.first, shape.last), shape.encoder_width)
        built.load_state_dict(weights)
        return built

    @property
    def shape(self) -> FusionShape:
        return FusionShape(self.stack.reduce.names, self.stack.first, self.stack.last, self.encoder_width)

    @property
    def config(self) -> Mapping[str, Any]:
        return self.shape.config

    @property
    def spec(self) -> str:
        return self.shape.spec

    def width(self, encoder_width: int) -> int:
        return self.shape.width(encoder_width)

    def forward(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N E"]:
        out: Tensor = self.map(self.stack(layers, tokens))
        return out
