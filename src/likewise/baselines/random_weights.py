"""Random weights: what an architecture achieves without training."""

import torch

from ..encoders.families import FAMILIES, family_name
from ..encoders.layers import initialize_weights
from ..engines.torch.torch_embedder import TorchEmbedder
from ..errors import BadInput


def random_weights(embedder: TorchEmbedder, seed: int = 0) -> TorchEmbedder:
    """Replace the weights by random ones, in place, as a baseline for what the architecture alone achieves."""
    kind = family_name(embedder.encoder.config)
    if kind not in FAMILIES:
        raise BadInput(f"a {kind!r} encoder runs in transformers, for which random weights are not supported")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        initialize_weights(embedder)
    return embedder
