"""An encoder with fewer inner units: those with the largest weights are kept, and nothing else changes."""

import pytest
import torch

from likewise.errors import BadInput
from papers.recipes.distillation.mini import prune_inner_units
from tests.encoders.test_prune_layers import TOKENS, whole


@pytest.mark.parametrize("family", ["bert", "electra"])
@torch.no_grad()
def test_units_without_weight_go_first_and_are_not_missed(family):
    encoder = whole(family, {})
    idle = {0: [0, 5, 23], 1: [1, 2, 3], 2: [22, 23, 7], 3: [9, 10, 11]}
    for i, units in idle.items():
        encoder.blocks[i].up.weight[units] = 0
        encoder.blocks[i].up.bias[units] = 0
    smaller = prune_inner_units(encoder, 21)
    assert smaller.config["intermediate_size"] == 21 and smaller.shape.inner == 21
    for ours, theirs in zip(smaller(TOKENS), encoder(TOKENS), strict=True):
        torch.testing.assert_close(ours, theirs)
    for i, units in idle.items():
        kept = [unit for unit in range(24) if unit not in units]
        torch.testing.assert_close(smaller.blocks[i].down.weight, encoder.blocks[i].down.weight[:, kept])


def test_all_units_kept_is_the_same_encoder_in_other_memory():
    encoder = whole("bert", {})
    same = prune_inner_units(encoder, 24)
    assert same is not encoder and all(
        torch.equal(a, b) for a, b in zip(same.parameters(), encoder.parameters(), strict=True)
    )


@pytest.mark.parametrize(("family", "inner"), [("bert", 25), ("bert", 0), ("bert", True), ("modernbert", 4)])
def test_what_cannot_be_pruned_is_refused(family, inner):
    with pytest.raises(BadInput, match="inner units"):
        prune_inner_units(whole(family, {}), inner)
