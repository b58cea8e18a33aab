"""Pooling over the mean of several layers, without torch: its name, and the settings that all engines share.

A token's vector is the mean of its vectors at these layers; the token vectors are then pooled, for example averaged.
Averages of the first and last layers, or of the last two, are well-known baselines (Li et al. 2020, Su et al. 2021);
Hosseini et al. (2023, "BERT Has More to Offer") show that the best layers depend on the model and the data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..errors import BadModel
from .reductions import reduction_names

Settings = TypeVar("Settings", bound="LayerMeanSettings")

KEY = ":layers="  # occurs in the names of layer means, and in no other pooling names
EXPECTED = f"expected a reduction and layer numbers (0 is the embeddings), such as mean{KEY}0+6"


@dataclass(frozen=True)
class LayerMeanSettings:
    """The settings of a layer mean, written as `"mean:layers=0+6"`.

    Args:
        reduce: names from `REDUCTIONS`, which say how tokens are pooled.
        layers: the layers to average, in ascending order; layer 0 is the embeddings.
    """

    reduce: tuple[str, ...]
    layers: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.layers or self.layers[0] < 0 or list(self.layers) != sorted({*self.layers}):
            raise BadModel(
                f"the layers to average are {self.layers!r:.200}; expected distinct numbers ≥ 0 in ascending order"
            )

    @classmethod
    def parse(cls: type[Settings], spec: str, depth: int) -> Settings:
        """Parse the name of a pooling method for an encoder with `depth` blocks, and therefore `depth` + 1 layers."""
        names, key, numbers = spec.partition(KEY)
        parts = numbers.split("+")
        if not key or not all(part.isascii() and part.isdecimal() for part in parts):
            raise BadModel(f"the pooling mode {spec!r} is unknown; {EXPECTED}")
        layers = [int(part) for part in parts]
        if len({*layers}) < len(layers):
            raise BadModel(f"the pooling mode {spec!r} names a layer twice; {EXPECTED}")
        built = cls(reduction_names(names), tuple(sorted(layers)))
        built.check(depth)
        return built

    @classmethod
    def read(cls: type[Settings], config: Mapping[str, Any], folder: Path, depth: int) -> Settings:
        """Read the settings of a layer mean from a model folder, for a model with `depth` blocks."""
        reduce, layers = config.get("reduce"), config.get("layers")
        if (
            not isinstance(reduce, str)
            or not isinstance(layers, list)
            or any(type(layer) is not int for layer in layers)
        ):
            raise BadModel(f"{folder} describes a {reduce!r:.200} over layers {layers!r:.200}; {EXPECTED}")
        try:
            built = cls(reduction_names(reduce), tuple(layers))
            built.check(depth)
        except BadModel as error:
            raise BadModel(f"{folder}: {error}") from None
        return built

    @property
    def config(self) -> Mapping[str, Any]:
        return {"reduce": "+".join(self.reduce), "layers": list(self.layers)}

    @property
    def spec(self) -> str:
        """The name, in the form that `parse` accepts."""
        return f"{'+'.join(self.reduce)}{KEY}{'+'.join(map(str, self.layers))}"

    def width(self, encoder_width: int) -> int:
        return len(self.reduce) * encoder_width

    def check(self, depth: int) -> None:
        if self.layers[-1] > depth:
            raise BadModel(
                f"the pooling mode {self.spec} reads layer {self.layers[-1]}, but the last layer of this encoder is "
                f"{depth}"
            )
