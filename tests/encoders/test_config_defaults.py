"""What a config.json leaves out has the value that the transformers library gives it."""

import pytest

from likewise.encoders.families import FAMILIES
from likewise.errors import BadModel
from tests.tiny import CONFIGS, TRANSFORMERS

REQUIRED = {
    "vocab_size": 200,
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}
OWN_REQUIRED = {"distilbert": {"vocab_size": 200, "dim": 32, "n_layers": 4, "n_heads": 4, "hidden_dim": 48}}
BERT = {
    "positions": 512, "eps": 1e-12, "activation": "gelu", "first_position": 0, "segments": 2, "word_width": 0,
    "groups": 0, "buckets": 0, "dropout": 0.1, "attention_dropout": 0.1,
}  # fmt: skip
DEFAULTS = {
    "bert": BERT,
    "roberta": {**BERT, "first_position": 2},
    "xlm-roberta": {**BERT, "first_position": 2},
    "camembert": {**BERT, "first_position": 2},
    "electra": {**BERT, "word_width": 128},
    "mpnet": {**BERT, "first_position": 2, "segments": 0, "buckets": 32},
    "distilbert": {**BERT, "segments": 0},
    "albert": {
        **BERT, "activation": "gelu_tanh", "word_width": 128, "groups": 1, "dropout": 0.0, "attention_dropout": 0.0,
    },
    "modernbert": {
        "positions": 8192, "eps": 1e-5, "activation": "gelu", "reach": 64, "local": (False, True, True, False),
        "thetas": (160_000.0, 10_000.0, 10_000.0, 160_000.0), "norm_bias": False, "attention_bias": False,
        "inner_bias": False, "dropout": 0.0, "attention_dropout": 0.0,
    },
}  # fmt: skip
"""By family, the fields of the shape that come of a config with the required keys alone: transformers 5's defaults,
with which tests/parity compares them."""


def required(family):
    return {"model_type": family, **OWN_REQUIRED.get(family, REQUIRED)}


def test_every_family_of_transformers_has_its_defaults_here():
    assert set(DEFAULTS) == set(TRANSFORMERS) <= set(CONFIGS)


@pytest.mark.parametrize("family", DEFAULTS)
def test_what_is_left_out_has_the_default_of_transformers(family):
    shape = FAMILIES[family].build(required(family)).shape
    sizes = {"vocabulary": 200, "width": 32, "depth": 4, "heads": 4, "inner": 48}
    assert vars(shape) == {**sizes, **DEFAULTS[family]}


@pytest.mark.parametrize("family", DEFAULTS)
@pytest.mark.parametrize("key", sorted({key for config in CONFIGS.values() for key in config}))
def test_a_key_that_is_required_is_required_by_name(family, key):
    if key not in required(family):
        return
    with pytest.raises(BadModel, match=f"{key} = None"):
        FAMILIES[family].build({name: value for name, value in required(family).items() if name != key})
