"""The sizes in a config.json: the smallest that an architecture may have, and the first that is refused by name."""

import json

import pytest

from likewise.encoders import shapes
from likewise.encoders.checkpoint import save_encoder
from likewise.encoders.families import FAMILIES, family_name
from likewise.errors import BadModel
from tests.tiny import CONFIGS, config_of, random_encoder


@pytest.mark.parametrize(
    ("family", "key", "least", "field"),
    [
        ("bert", "type_vocab_size", 0, "segments"),
        ("bert", "num_hidden_layers", 1, "depth"),
        ("bert", "intermediate_size", 1, "inner"),
        ("bert", "max_position_embeddings", 1, "longest"),
        ("distilbert", "max_position_embeddings", 1, "longest"),
        ("distilbert", "hidden_dim", 1, "inner"),
        ("electra", "embedding_size", 1, "word_width"),
        ("albert", "num_hidden_groups", 1, "groups"),
        ("mpnet", "relative_attention_num_buckets", 4, "buckets"),
        ("deberta-v2", "position_buckets", 2, "distances"),
        ("t5", "relative_attention_num_buckets", 4, "buckets"),
        ("gte", "type_vocab_size", 0, "segments"),
        ("nomic_bert", "type_vocab_size", 0, "segments"),
        ("nomic_bert", "max_position_embeddings", 1, "longest"),
        ("modernbert", "max_position_embeddings", 1, "longest"),
        ("words", "ngram_buckets", 0, "buckets"),
        ("dan", "pair_buckets", 1, "pairs"),
        ("bilstm", "hidden_size", 2, "width"),
    ],
)
def test_the_smallest_size_is_accepted_and_one_below_is_refused_by_name(family, key, least, field):
    assert getattr(FAMILIES[family].shape({**config_of(family), key: least}), field) == least
    with pytest.raises(BadModel, match=f"{key} = {least - 1}"):
        FAMILIES[family].shape({**config_of(family), key: least - 1})


@pytest.mark.parametrize("family", ["roberta", "mpnet"])
@pytest.mark.parametrize("pad", [0, 1, 5])
def test_positions_count_from_after_the_padding_and_one_must_be_left(family, pad):
    config = {**config_of(family), "pad_token_id": pad}
    shape = FAMILIES[family].shape({**config, "max_position_embeddings": pad + 2})
    assert (shape.first_position, shape.longest) == (pad + 1, 1)
    told = f"max_position_embeddings = {pad + 1} and pad_token_id = {pad}, which leaves no position for a token"
    with pytest.raises(BadModel, match=told):
        FAMILIES[family].shape({**config, "max_position_embeddings": pad + 1})
    with pytest.raises(BadModel, match="pad_token_id = -1; expected a whole number from 0"):
        FAMILIES[family].shape({**config, "pad_token_id": -1})


def test_heads_divide_the_width_and_rotary_ones_half_of_it():
    width = CONFIGS["bert"]["hidden_size"]
    for family, key, heads in (("bert", "num_attention_heads", width), ("distilbert", "n_heads", width)):
        assert FAMILIES[family].shape({**config_of(family), key: heads}).heads == heads
        with pytest.raises(BadModel, match=f"sets {heads + 1} heads, which do not divide the hidden size of {width}"):
            FAMILIES[family].shape({**config_of(family), key: heads + 1})
    modern = {**config_of("modernbert"), "hidden_size": 24}
    assert [FAMILIES["modernbert"].shape({**modern, "num_attention_heads": heads}).heads for heads in (12, 6, 1)] == [
        12,
        6,
        1,
    ]
    for heads in (8, 24):  # which divide the width, and not half of it
        with pytest.raises(BadModel, match=f"sets {heads} rotary heads, which do not divide 24 / 2 dimensions"):
            FAMILIES["modernbert"].shape({**modern, "num_attention_heads": heads})


def test_an_lstm_of_two_directions_has_an_even_width():
    config = config_of("bilstm")
    assert FAMILIES["bilstm"].shape({**config, "hidden_size": 4}).width == 4
    with pytest.raises(BadModel, match="hidden_size = 3; expected an even number, half for each direction"):
        FAMILIES["bilstm"].shape({**config, "hidden_size": 3})


NOMIC = {
    "model_type": "nomic_bert", "vocab_size": 200, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_inner": 48,
    "n_positions": 66, "layer_norm_epsilon": 1e-12, "activation_function": "swiglu", "rotary_emb_base": 1000,
    "rotary_emb_fraction": 1.0, "qkv_proj_bias": False, "mlp_fc1_bias": False, "mlp_fc2_bias": False,
    "prenorm": False, "causal": False, "resid_pdrop": 0.1, "attn_pdrop": 0.0, "type_vocab_size": 2,
}  # fmt: skip
"""The tiny model of `CONFIGS`, as Nomic's own code writes its config.json."""


def test_nomics_own_words_are_those_of_transformers():
    assert shapes.nomic_shape(NOMIC) == shapes.nomic_shape(config_of("nomic_bert"))
    geglu = {**NOMIC, "activation_function": "geglu", "qkv_proj_bias": True, "mlp_fc1_bias": None, "mlp_fc2_bias": True}
    shape = shapes.nomic_shape(geglu)
    assert shape.activation == "gelu" and shape.attention_bias and shape.up_bias and shape.down_bias
    rest = vars(shapes.nomic_shape({key: NOMIC[key] for key in ("vocab_size", *shapes.NOMIC_KEYS)}))
    assert rest == vars(shapes.nomic_shape(config_of("nomic_bert"))) | {
        **{"positions": 8192, "eps": 1e-5, "activation": "silu", "theta": 1000.0, "dropout": 0.0},
        **{"attention_dropout": 0.0, "attention_bias": True, "up_bias": True, "down_bias": True},
    }


def test_what_is_the_only_choice_may_be_named():
    assert shapes.t5_shape({**config_of("t5"), "relative_attention_max_distance": 128}) == shapes.t5_shape(
        config_of("t5")
    )


BAD_VARIANTS = [
    ("nomic_bert", {"activation_function": "gelu"}),
    ("nomic_bert", {"activation_function": ["swiglu"]}),
    ("nomic_bert", {"prenorm": True}),
    ("nomic_bert", {"causal": True}),
    ("nomic_bert", {"rotary_emb_fraction": 0.5}),
    ("nomic_bert", {"rotary_scaling_factor": 2}),
    ("nomic_bert", {"moe_every_n_layers": 2}),
    ("nomic_bert", {"rotary_emb_base": 0}),
    ("nomic_bert", {"n_head": 32}),
    ("nomic_bert", {"n_layer": None}),
    ("deberta-v2", {"conv_kernel_size": 3}),
    ("deberta-v2", {"norm_rel_ebd": "none"}),
    ("deberta-v2", {"embedding_size": 16}),
    ("deberta-v2", {"position_buckets": -1}),
    ("deberta-v2", {"position_buckets": 200}),
    ("t5", {"d_kv": 16}),
    ("t5", {"relative_attention_max_distance": 64}),
    ("t5", {"feed_forward_proj": "other"}),
    ("t5", {"feed_forward_proj": "gated-other"}),
    ("t5", {"feed_forward_proj": ["relu"]}),
    ("t5", {"num_layers": 201}),
    ("jina_bert", {"feed_forward_type": "original"}),
    ("jina_bert", {"num_attention_heads": 5}),
    ("gte", {"position_embedding_type": "absolute"}),
    ("gte", {"num_attention_heads": 32}),
    ("gte", {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}),
    ("gte", {"rope_parameters": {"rope_type": "linear", "factor": 0}}),
    ("gte", {"rope_parameters": 3}),
    ("new", {"rope_scaling": {"type": "ntk", "factor": 8.0, "mixed_b": 0.5}}),
    ("new", {"rope_scaling": "ntk"}),
    ("new", {"rope_theta": 0}),
    ("new", {"logn_attention_scale": True}),
    ("new", {"pack_qkv": False}),
    ("qwen3", {"num_key_value_heads": 3}),
    ("qwen3", {"head_dim": 5}),
    ("qwen3", {"rope_theta": 0}),
    ("gemma3_text", {"layer_types": ["other"]}),
    ("gemma3_text", {"query_pre_attn_scalar": 0}),
    ("qwen3", {"rope_theta": 1e-300}),
    ("gemma3_text", {"rope_local_base_freq": 0.999}),
    ("gte", {"rope_parameters": {"rope_type": "linear", "factor": 1e-9}}),
]


@pytest.mark.parametrize(("family", "change"), BAD_VARIANTS)
def test_a_variant_of_gated_encoders_that_would_be_computed_wrongly_is_refused(family, change):
    config = NOMIC if family == "nomic_bert" else config_of(family)
    with pytest.raises(BadModel, match=f"{next(iter(change))}|rotary heads|factor|heads"):
        FAMILIES[family].shape({**config, **change})


@pytest.mark.parametrize("key", ["rope_parameters", "rope_scaling"])
@pytest.mark.parametrize("family", ["qwen3", "gemma3_text"])
def test_a_null_kind_of_rotary_positions_is_the_default(family, key):
    assert family_name({**config_of(family), key: {"rope_type": None}}) == family


def test_fixed_ntk_scaling_is_a_larger_base_and_slower_angles():
    shape = shapes.gte_shape(
        {**config_of("new"), "rope_theta": 500_000, "rope_scaling": {"type": "ntk", "factor": 2.0}}
    )
    assert (shape.theta, shape.stretch) == (1e6, 2 ** (2 / 8))
    plain = shapes.gte_shape({key: value for key, value in config_of("new").items() if key != "rope_scaling"})
    assert (plain.theta, plain.stretch) == (20_000.0, 1.0)
    assert shapes.gte_shape(config_of("gte")).stretch == shapes.gte_shape(config_of("new")).stretch == 8 ** (2 / 8)


def slow_slopes(heads):
    """ALiBi's slopes as its paper and its authors' code describe them."""
    if heads & (heads - 1) == 0:
        return [(2 ** (-8 / heads)) ** (i + 1) for i in range(heads)]
    below = 2 ** (heads.bit_length() - 1)
    return slow_slopes(below) + slow_slopes(2 * below)[::2][: heads - below]


@pytest.mark.parametrize("heads", [1, 2, 4, 8, 16, 3, 6, 12, 20])
def test_slopes_of_alibi_fall_from_head_to_head(heads):
    assert shapes.alibi_slopes(heads) == pytest.approx(slow_slopes(heads), rel=1e-12)


@pytest.mark.parametrize(("every", "local"), [(1, "0000"), (2, "0101"), (3, "0110"), (9, "0111")])
def test_every_so_many_blocks_attend_to_all_tokens_the_first_among_them(every, local):
    config = {key: value for key, value in config_of("modernbert").items() if key != "layer_types"}
    built = FAMILIES["modernbert"].shape({**config, "num_hidden_layers": 4, "global_attn_every_n_layers": every})
    assert "".join(str(int(is_local)) for is_local in built.local) == local
    named = ["sliding_attention" if one == "1" else "full_attention" for one in local]
    assert FAMILIES["modernbert"].shape({**config, "num_hidden_layers": 4, "layer_types": named}).local == built.local


@pytest.mark.parametrize(("tokens", "reach"), [(1, 0), (2, 1), (7, 3), (128, 64)])
def test_a_local_block_reaches_half_of_its_tokens_to_either_side(tokens, reach):
    assert FAMILIES["modernbert"].shape({**config_of("modernbert"), "local_attention": tokens}).reach == reach


@pytest.mark.parametrize(("kind", "key"), [("full", "global_rope_theta"), ("sliding", "local_rope_theta")])
def test_a_rotary_base_is_at_least_one_and_the_older_key_goes_before_the_newer(kind, key):
    config = {name: value for name, value in config_of("modernbert").items() if "rope" not in name}
    named = {**config, "layer_types": [f"{kind}_attention"] * config["num_hidden_layers"]}

    def theta(**more):
        (found,) = set(FAMILIES["modernbert"].shape({**named, **more}).thetas)
        return found

    newer = {"rope_parameters": {f"{kind}_attention": {"rope_theta": 300.0}}}
    assert theta() == theta(rope_parameters=None) == {"full": 160_000.0, "sliding": 10_000.0}[kind]
    assert (theta(**{key: 1.0}), theta(**newer), theta(**newer, **{key: 7.0})) == (1.0, 300.0, 7.0)
    for wrong in ({key: 0}, {key: 1e-300}, {"rope_parameters": {f"{kind}_attention": {"rope_theta": 0}}}):
        with pytest.raises(BadModel, match=f"{key} = .*; expected a number of at least 1"):
            theta(**wrong)


def test_rows_of_a_table_are_words_and_buckets():
    shape = FAMILIES["words"].shape({**config_of("words"), "vocab_size": 5, "ngram_buckets": 3, "hidden_size": 4})
    assert (shape.vocabulary, shape.buckets, shape.rows, shape.width) == (5, 3, 8, 4)
    assert FAMILIES["dan"].shape({**config_of("dan"), "vocab_size": 5}).words.rows == 5
    known = {**config_of("words"), "vocab_size": 5, "unknown_row": 4}
    assert FAMILIES["words"].shape(known).unknown == 4
    with pytest.raises(BadModel, match="unknown_row = 5 and vocab_size = 5, so there is no such row"):
        FAMILIES["words"].shape({**known, "unknown_row": 5})


def test_sizes_added_later_are_not_in_the_form_that_older_fingerprints_cover():
    assert "buckets=0, dropout=" in repr(FAMILIES["bert"].shape(config_of("bert")))


def test_a_saved_config_has_a_line_for_each_setting(tmp_path):
    encoder = random_encoder(config_of("bert"))
    save_encoder(encoder, tmp_path)
    written = (tmp_path / "config.json").read_text("utf-8").splitlines()
    settings = {**encoder.config, "torch_dtype": "float32"}
    assert written[1:-1] == json.dumps(settings, indent=2).splitlines()[1:-1] and len(written) == len(settings) + 2
