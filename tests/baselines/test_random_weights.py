"""Random weights are supported only for architectures that the library itself initializes."""

import pytest
import torch

from likewise.baselines.random_weights import random_weights
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput


def test_weights_are_those_of_the_seed_and_no_other_draw_changes(own):
    folder = own()
    loaded, prints = TorchEmbedder.load(folder), []
    torch.manual_seed(5)
    for options in ({}, {"seed": 0}, {"seed": 1}):
        made = TorchEmbedder.load(folder)
        assert random_weights(made, **options) is made
        prints.append(made.fingerprint)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(3))
    assert prints[0] == prints[1] and len({loaded.fingerprint, *prints}) == 3


def test_an_encoder_that_runs_in_transformers_is_refused_and_keeps_its_weights(own):
    embedder = TorchEmbedder.load(own())
    embedder.encoder.config["model_type"] = "gpt2"
    before = embedder.fingerprint
    with pytest.raises(BadInput, match="'gpt2' encoder runs in transformers, for which random weights"):
        random_weights(embedder)
    assert embedder.fingerprint == before
