"""Learned dissection: a trained linear map over the pooled vectors of several layers, with the encoder frozen.

SBERT-WK (Wang and Kuo 2020) showed that layers hold different information and fused them by a fixed rule; here
the rule is learned (likewise/train/layers/fusion_training.py). Untrained, it is plain pooling of its last layer.
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
from ..module_registry import LARGEST_WIDTH
from ..runtime.untrusted_files import whole_number_setting
from ..runtime.weight_files import read_tensors
from .reductions import Reduce


@dataclass(frozen=True)
class Stack:
    """The pooled vectors of the layers `first` … `last` (0: the embeddings), concatenated; later blocks are not run."""

    reduce: Reduce
    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise BadModel(f"layers {self.first} to {self.last} were requested; expected 0 ≤ first ≤ last")

    @property
    def spec(self) -> str:
        return f"{self.reduce.spec} of layers {self.first} to {self.last}"

    def width(self, encoder_width: int) -> int:
        return (self.last - self.first + 1) * self.reduce.width(encoder_width)

    def __call__(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N F"]:
        pooled = [self.reduce(iter([x]), tokens) for x in islice(layers, self.first, self.last + 1)]
        if len(pooled) != self.last - self.first + 1:
            raise BadModel(f"the pooling reads the {self.spec}, and the encoder has too few layers for that")
        return torch.cat(pooled, dim=1)


class Fusion(nn.Module):
    """A linear map of a `Stack` of layers to one vector, initialised as plain pooling of the last layer."""

    def __init__(self, stack: Stack, encoder_width: int) -> None:
        super().__init__()
        self.stack, self.encoder_width = stack, encoder_width
        wide, narrow = stack.width(encoder_width), stack.reduce.width(encoder_width)
        self.map = nn.Linear(wide, narrow, device="meta").to_empty(device="cpu")
        with torch.no_grad():
            self.map.weight.zero_()[:, -narrow:].fill_diagonal_(1)
            self.map.bias.zero_()

    @classmethod
    def read(cls, config: Mapping[str, Any], folder: Path, depth: int) -> "Fusion":
        """The fusion that the folder of a model of `depth` blocks describes."""
        try:
            reduce = Reduce.parse(config["reduce"])
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise BadModel(f"the fusion in {folder} cannot be read: {error!r}") from error
        numbers = {"first": depth, "last": depth, "encoder_width": LARGEST_WIDTH}
        first, last, width = (
            whole_number_setting(config, key, most, folder / "config.json") for key, most in numbers.items()
        )
        stack = Stack(reduce, first, last)
        wide, narrow = stack.width(width), reduce.width(width)
        shapes = {"map.weight": (narrow, wide), "map.bias": (narrow,)}
        weights = read_tensors(folder, "the fusion", shapes)  # compares shapes before memory is taken for the map
        built = cls(stack, width)
        built.load_state_dict(weights)
        return built

    @property
    def config(self) -> Mapping[str, Any]:
        """The settings that `read` needs."""
        first, last = self.stack.first, self.stack.last
        return {"reduce": self.stack.reduce.spec, "first": first, "last": last, "encoder_width": self.encoder_width}

    @property
    def spec(self) -> str:
        return f"fusion: {self.stack.spec}"

    def width(self, encoder_width: int) -> int:
        if encoder_width != self.encoder_width:
            raise BadModel(f"the fusion is for an encoder of width {self.encoder_width}, not {encoder_width}")
        return self.map.out_features

    def forward(self, layers: Layers, tokens: Ragged) -> Float[Tensor, "N E"]:
        out: Tensor = self.map(self.stack(layers, tokens))
        return out
