"""Random weights: what an architecture gives without training."""

import torch

from ..encoders.families import FAMILIES
from ..encoders.layers import initialize_weights
from ..engines.torch.torch_embedder import TorchEmbedder
from ..errors import BadInput


def random_weights(embedder: TorchEmbedder, seed: int = 0) -> TorchEmbedder:
    """The same architecture with random weights, drawn anew in place; a row for what the architecture alone gives."""
    kind = embedder.encoder.config.get("model_type")
    if kind not in FAMILIES:
        raise BadInput(f"a {kind!r} encoder is that of the transformers package, whose weights are not drawn here")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        initialize_weights(embedder)
    return embedder
