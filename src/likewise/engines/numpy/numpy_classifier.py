"""Classification heads in NumPy: pooled vectors to logits, for every engine without torch."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ...encoders.config import Config
from ...reranker.classification_heads import ClassificationHead, HeadShape
from ..stored_weights import StoredTensor, StoredWeights
from .encoders import ACTIVATION_FUNCTIONS, layer_norm

Array = np.ndarray


def stored_head(folder: Path, config: Config, head: ClassificationHead) -> dict[str, StoredTensor]:
    """The tensors of the classification head of a model folder, as they are stored, by our names.

    Raises:
        BadModel: a tensor is missing, of another shape than the config's, or not finite.
    """
    with ExitStack() as stack:
        stored = StoredWeights(folder, stack)
        shapes = head.shape(config).tensors
        return {ours: stored.read(head.file_name(ours), *sizes) for ours, sizes in shapes.items()}


class NumpyClassifier:
    """Pooled vectors to logits: out(norm(activation(dense(x)))), in fp32."""

    def __init__(self, shape: HeadShape, tensors: Mapping[str, StoredTensor]) -> None:
        self.shape, self.activation = shape, ACTIVATION_FUNCTIONS[shape.activation]
        self.weights = {name: tensor.fp32() for name, tensor in tensors.items()}

    def __call__(self, pooled: Float[Array, "N D"]) -> Float[Array, "N C"]:
        x = self.activation(self._linear("dense", pooled))
        if self.shape.norm is not None:
            x = layer_norm(x, (self.weights["norm.weight"], self.weights.get("norm.bias", 0.0)), self.shape.norm)
        return self._linear("out", x)

    def _linear(self, layer: str, x: Float[Array, "N D"]) -> Float[Array, "N E"]:
        """Row by row, since the bits of a product of matrices depend on how many rows there are."""
        weight, bias = self.weights[f"{layer}.weight"], self.weights.get(f"{layer}.bias", 0.0)
        return np.asarray((x[:, None] @ weight.T)[:, 0] + bias, np.float32)
