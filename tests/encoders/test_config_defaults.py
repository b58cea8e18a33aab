"""What a config.json leaves out has the value that the transformers library gives it."""

import pytest

from likewise.encoders import config
from likewise.encoders.families import FAMILIES
from likewise.errors import BadModel
from tests.tiny import CONFIGS, TRANSFORMERS, write

DISENTANGLED = ("relative_attention", "position_biased_input", "share_att_key", "pos_att_type", "norm_rel_ebd")
REQUIRED = {
    "vocab_size": 200,
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}
T5 = {"vocab_size": 200, "d_model": 32, "num_layers": 4, "num_heads": 4, "d_ff": 48}
OWN_REQUIRED = {
    "distilbert": {"vocab_size": 200, "dim": 32, "n_layers": 4, "n_heads": 4, "hidden_dim": 48},
    "deberta-v2": {**REQUIRED, "position_buckets": 8},
    "t5": T5,
    "t5_gated": T5,
}
FORMS = {
    "deberta-v2": {"position_buckets": 8, **{key: CONFIGS["deberta-v2"][key] for key in DISENTANGLED}},
    "t5": {"d_kv": 8},  # whose default is for wider models
    "t5_gated": {"d_kv": 8, "model_type": "t5", "feed_forward_proj": "gated-gelu"},
    "qwen3": {"num_key_value_heads": 2},  # whose default is for more heads
}
"""What makes a config one of a form that has a row of its own."""
BERT = {
    "positions": 512, "eps": 1e-12, "activation": "gelu", "first_position": 0, "segments": 2, "word_width": 0,
    "groups": 0, "buckets": 0, "theta": 0.0, "stretch": 1.0, "distances": 0,
    "farthest": 0, "alibi": False, "gated": 0, "attention_bias": True,
    "up_bias": True, "down_bias": True, "dropout": 0.1, "attention_dropout": 0.1,
}  # fmt: skip
GTE = {**BERT, "positions": 8192, "segments": 1, "gated": 2, "up_bias": False, "attention_dropout": 0.0}
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
    "deberta-v2": {**BERT, "eps": 1e-7, "segments": 0, "distances": 8, "farthest": 512},
    "t5": {"positions": 65_536, "eps": 1e-6, "buckets": 32, "activation": "relu", "gated": False, "dropout": 0.1},
    "t5_gated": {
        "positions": 65_536, "eps": 1e-6, "buckets": 32, "activation": "gelu_tanh", "gated": True, "dropout": 0.1,
    },
    "jina_bert": {**BERT, "positions": 8192, "alibi": True, "gated": 1, "up_bias": False},
    "nomic_bert": {
        **BERT, "positions": 2048, "activation": "silu", "theta": 1000.0, "gated": 1, "attention_bias": False,
        "up_bias": False, "down_bias": False, "dropout": 0.0, "attention_dropout": 0.0,
    },
    "gte": {**GTE, "theta": 160_000.0},
    "new": {**GTE, "theta": 10_000.0},
    "modernbert": {
        "positions": 8192, "eps": 1e-5, "activation": "gelu", "reach": 64, "local": (False, True, True, False),
        "thetas": (160_000.0, 10_000.0, 10_000.0, 160_000.0), "norm_bias": False, "attention_bias": False,
        "inner_bias": False, "dropout": 0.0, "attention_dropout": 0.0,
    },
    "qwen3": {
        "positions": 32_768, "eps": 1e-6, "key_heads": 2, "head_width": 128, "thetas": (10_000.0,) * 4,
        "reaches": (-1,) * 4, "activation": "silu", "causal": True, "attention_bias": False, "divisor": 0.0,
        "word_scale": 1.0, "post_norms": False, "one_more": False, "attention_dropout": 0.0,
    },
    "gemma3_text": {
        "positions": 131_072, "eps": 1e-6, "key_heads": 4, "head_width": 256, "thetas": (10_000.0,) * 4,
        "reaches": (4095,) * 4, "activation": "gelu_tanh", "causal": True, "attention_bias": False, "divisor": 16.0,
        "word_scale": 32**0.5, "post_norms": True, "one_more": True, "attention_dropout": 0.0,
    },
}  # fmt: skip
"""By family, the fields of the shape that come of a config with the required keys alone: transformers 5's defaults,
with which tests/parity compares them."""


def required(family):
    return {"model_type": family, **OWN_REQUIRED.get(family, REQUIRED), **FORMS.get(family, {})}


def test_every_family_of_transformers_has_its_defaults_here():
    assert set(DEFAULTS) == set(TRANSFORMERS) <= set(CONFIGS)


@pytest.mark.parametrize("family", DEFAULTS)
def test_what_is_left_out_has_the_default_of_transformers(family):
    shape = FAMILIES[family].build(required(family)).shape
    sizes = {"vocabulary": 200, "width": 32, "depth": 4, "heads": 4, "inner": 48}
    assert vars(shape) == {**sizes, **DEFAULTS[family]}


@pytest.mark.parametrize("family", DEFAULTS)
@pytest.mark.parametrize("key", sorted({key for config in CONFIGS.values() for key in config} - {"model_type"}))
def test_a_key_that_is_required_is_required_by_name(family, key):
    if key not in OWN_REQUIRED.get(family, REQUIRED):
        return
    with pytest.raises(BadModel, match=f"{key} = None"):
        FAMILIES[family].build({name: value for name, value in required(family).items() if name != key})


def test_numbers_of_a_config_have_bounds():
    assert (config.number({"a": 10**12}, "a", 1.0), config.number({"a": 0}, "a", 1.0)) == (1e12, 0.0)
    assert config.number({"a": None}, "a", 2.5) == config.number({}, "a", 2.5) == 2.5
    assert isinstance(config.number({"a": 3}, "a", 1.0), float) and config.fraction({"a": 1}, "a", 0.5) == 1.0
    for wrong in (10**12 + 1, -1e-9, True, "3", float("nan")):
        with pytest.raises(BadModel, match="a = .*; expected a number from 0 to 1,000,000,000,000"):
            config.number({"a": wrong}, "a", 1.0)
    with pytest.raises(BadModel, match="expected a number from 0 to 1$"):
        config.fraction({"a": 1.5}, "a", 0.5)


@pytest.mark.parametrize(
    ("key", "most"), [("a", 10**8), ("num_hidden_layers", 200), ("n_layers", 200), ("num_hidden_groups", 200)]
)
def test_sizes_of_a_config_are_whole_and_bounded(key, most):
    assert config.size({key: most}, key) == most and config.size({key: 1}, key) == 1
    assert config.size({}, key, 7) == 7 and config.size({key: 0}, key, least=0) == 0
    for wrong in (most + 1, 0, True, 2.0, "2", None):
        with pytest.raises(BadModel, match=f"{key} = .*; expected a whole number from 1 to {most:,}"):
            config.size({key: wrong}, key)


def test_booleans_variants_and_activations_of_a_config_are_known_or_refused():
    assert config.boolean({"a": False}, "a", True) is False and config.boolean({"a": None}, "a", True) is True
    with pytest.raises(BadModel, match="a = 1; expected true or false"):
        config.boolean({"a": 1}, "a", True)
    config.require_supported({"a": 1, "b": None}, a=1, b=2, c=3)
    with pytest.raises(BadModel, match="a = 2; this encoder supports only 1"):
        config.require_supported({"a": 2}, a=1)
    assert config.activation({}, "a", "gelu_new") == "gelu_tanh"
    for wrong in ("other", 3):
        with pytest.raises(BadModel, match="sets a to .*; expected one of gelu"):
            config.activation({"a": wrong}, "a", "gelu")


def test_eight_bits_are_marked_beside_the_real_type(tmp_path):
    marked = config.in_eight_bits({"model_type": "bert", "x": 1})
    assert marked == {"model_type": "likewise-int8", "likewise_model_type": "bert", "x": 1}
    write(tmp_path / "config.json", marked)
    assert config.is_in_eight_bits(tmp_path) and config.read_config(tmp_path) == {"model_type": "bert", "x": 1}
    write(tmp_path / "config.json", {"model_type": "bert"})
    assert not config.is_in_eight_bits(tmp_path)
    write(tmp_path / "config.json", {"model_type": "bert", "quantization_config": {}})
    with pytest.raises(BadModel, match="holds weights quantized by another library"):
        config.read_config(tmp_path)
