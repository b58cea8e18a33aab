"""What goes into a model's products on calibration text: per channel the largest magnitude, and a sample of rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float

from ..array_embedder import ArrayEmbedder
from ..description import Description
from ..numpy.encoders import NumpyEncoder, Packed
from ..numpy.numpy_embedder import NumpyEmbedder

Array = np.ndarray
Site = Literal["query", "up"]
"""A product that reads a norm's output, named by `BlockWeights`: queries, keys and values, or the network's first."""
ROWS = 256  # kept of each batch
BATCH_TOKENS = 2048


@dataclass
class Inputs:
    """What went into a product."""

    largest: Float[Array, " D"]
    """Of each channel, over all tokens."""
    rows: list[Float[Array, "R D"]] = field(default_factory=list)

    def add(self, x: Float[Array, "T D"]) -> None:
        """Take note of a batch."""
        self.largest = np.maximum(self.largest, np.abs(x).max(0, initial=0))
        self.rows.append(x[np.linspace(0, len(x) - 1, min(ROWS, len(x))).astype(int)])


class RecordingEncoder(NumpyEncoder):
    """NumPy's encoder, which records what its products read; blocks that layers share have one record."""

    def __init__(self, description: Description) -> None:
        super().__init__(description)
        self.inputs: dict[tuple[int, Site], Inputs] = {}

    def _attention(self, x: Array, block: object, packed: Packed) -> Array:
        self._record(block, "query", x)
        return super()._attention(x, block, packed)  # type: ignore[arg-type]

    def _network(self, x: Array, block: object) -> Array:
        self._record(block, "up", x)
        return super()._network(x, block)  # type: ignore[arg-type]

    def _record(self, block: object, site: Site, x: Array) -> None:
        key = next(i for i, one in enumerate(self.blocks) if one is block), site
        self.inputs.setdefault(key, Inputs(np.zeros(self.width, np.float32))).add(x)


def record_inputs(
    model: ArrayEmbedder, description: Description, texts: Sequence[str]
) -> dict[tuple[int, Site], Inputs]:
    """What goes into each product on these texts, by the block's index and the product, in fp32."""
    encoder = RecordingEncoder(description)
    embedder = NumpyEmbedder(model.tokenizer, encoder, model.pooling, model.heads, model.manifest)
    embedder.encode(texts, overflow="truncate", batch_tokens=BATCH_TOKENS, show_progress_bar=False)
    return encoder.inputs
