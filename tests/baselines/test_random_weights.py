"""Random weights in an architecture: only where the library itself initializes it."""

import pytest

from likewise.baselines.random_weights import random_weights
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput


def test_an_encoder_that_runs_in_transformers_is_refused_and_keeps_its_weights(own):
    embedder = TorchEmbedder.load(own())
    embedder.encoder.config["model_type"] = "gpt2"
    before = embedder.fingerprint
    with pytest.raises(BadInput, match="'gpt2' encoder runs in transformers, for which random weights"):
        random_weights(embedder)
    assert embedder.fingerprint == before
