"""A cut encoder is the lower part of the whole one, in every family."""

import pytest
import torch

from likewise.arrays.ragged import Ragged
from likewise.encoders.checkpoint import load_encoder, save_encoder
from likewise.encoders.encoder import Encoder
from likewise.encoders.families import FAMILIES
from likewise.encoders.layers import initialize_weights
from likewise.encoders.prune_layers import prune_layers
from likewise.errors import BadInput
from tests.encoders.test_config_defaults import FORMS
from tests.tiny import TRANSFORMERS, config_of

PLAIN = {
    "vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": 40, "pad_token_id": 1, "embedding_size": 8,
}  # fmt: skip
OTHERS = {
    "distilbert": {"vocab_size": 50, "dim": 16, "n_layers": 4, "n_heads": 2, "hidden_dim": 24,
                   "max_position_embeddings": 40},
    "jina_bert": {**PLAIN, "position_embedding_type": "alibi"},
    "deberta-v2": {**PLAIN, "embedding_size": 16, **FORMS["deberta-v2"]},
    "t5": {**config_of("t5"), "num_layers": 4},
    "t5_gated": {**config_of("t5_gated"), "num_layers": 4},
    "qwen3": {**PLAIN, "num_key_value_heads": 1},
    "gemma3_text": {**PLAIN, "num_key_value_heads": 1, "sliding_window_pattern": 2},
}  # fmt: skip
PLACED = ("albert", "modernbert", "t5", "t5_gated", "qwen3", "gemma3_text")  # whose blocks depend on their place
CASES = [(family, {}) for family in TRANSFORMERS] + [
    ("albert", {"num_hidden_groups": 2}),
    ("albert", {"num_hidden_groups": 4}),
    ("modernbert", {"layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]}),
]
TOKENS = Ragged.of([[3, 4, 5, 6], [7, 8], [9, 10, 11]])


def whole(family, extra):
    torch.manual_seed(0)
    config = {**OTHERS.get(family, PLAIN), "model_type": config_of(family)["model_type"], **extra}
    encoder = initialize_weights(FAMILIES[family].build(config), 0.3).eval()
    encoder.config = config
    return encoder


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize(("family", "extra"), CASES, ids=lambda c: str(c))
@torch.no_grad()
def test_its_layers_are_the_first_of_the_whole_one_and_saving_keeps_them(family, extra, depth, tmp_path):
    encoder = whole(family, extra)
    smaller = prune_layers(encoder, depth)
    expected = list(encoder(TOKENS))[: depth + 1]
    if not encoder.nested and depth < encoder.depth:
        expected[-1] = encoder.last_norm(expected[-1])
    save_encoder(smaller, tmp_path)
    for result in (list(smaller(TOKENS)), list(load_encoder(tmp_path)(TOKENS))):
        assert smaller.depth == depth and len(result) == depth + 1
        for ours, theirs in zip(result, expected, strict=True):
            torch.testing.assert_close(ours, theirs)


def test_a_cut_encoder_is_smaller_unless_its_blocks_were_shared():
    bert, albert = whole("bert", {}), whole("albert", {})
    assert len(prune_layers(bert, 2).blocks) == 2 and len(prune_layers(albert, 2).blocks) == len(albert.blocks) == 1


@pytest.mark.parametrize("family", [f for f in TRANSFORMERS if f not in PLACED])
@torch.no_grad()
def test_blocks_from_here_and_there_are_kept_in_their_order(family, tmp_path):
    encoder, moved = whole(family, {}), whole(family, {})
    moved.block(1).load_state_dict(encoder.block(3).state_dict())
    smaller = prune_layers(encoder, [0, 3])
    save_encoder(smaller, tmp_path)
    for result in (smaller, load_encoder(tmp_path)):
        for ours, theirs in zip(result(TOKENS), list(moved(TOKENS))[:3], strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("kept", [[], [2, 1], [0, 0], [0, 4], [-1, 0]])
def test_blocks_that_there_are_not_are_refused(kept):
    with pytest.raises(BadInput, match="some of 0 to 3, in order"):
        prune_layers(whole("bert", {}), kept)


@pytest.mark.parametrize("family", PLACED)
def test_blocks_that_are_others_in_another_place_are_refused(family):
    with pytest.raises(BadInput, match="only the first blocks can be kept"):
        prune_layers(whole(family, {}), [0, 2])


@pytest.mark.parametrize("depth", [0, 5, -1, True, 2.0])
@pytest.mark.usefixtures("unchecked")
def test_a_depth_that_there_is_not_is_refused(depth):
    with pytest.raises(BadInput, match="4 blocks"):
        prune_layers(whole("bert", {}), depth)


@pytest.mark.parametrize("kind", ["other", *(f for f in FAMILIES if f not in TRANSFORMERS)])
def test_an_encoder_of_no_known_family_or_without_blocks_cannot_be_cut(kind):
    encoder = Encoder()
    encoder.config = {**(config_of(kind) if kind in FAMILIES else {}), "model_type": kind}
    with pytest.raises(BadInput, match=f"a '{kind}' encoder cannot be pruned; expected one of bert, .*gemma3_text$"):
        prune_layers(encoder, 1)
