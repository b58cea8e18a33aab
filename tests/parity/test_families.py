"""Every family beside transformers, on random weights, at every layer."""

import json
from types import SimpleNamespace

import pytest
import torch
import transformers
from safetensors.torch import load_file

from likewise import Embedder, Ragged
from likewise.encoders.architectures.transformers_model import AutoEncoder
from likewise.encoders.checkpoint import load_encoder, save_encoder
from likewise.errors import BadModel
from tests.encoders.test_config_defaults import DEFAULTS, required
from tests.encoders.test_shapes import NOMIC, slow_slopes
from tests.tiny import OWN_CODE, TRANSFORMERS, amend, config_of, pack, random_encoder, wordpieces, write

KNOWN = [family for family in TRANSFORMERS if family not in OWN_CODE]
LENGTHS = [1, 3, 7, 7, 31, 13, 64]
EAGER = {"attn_implementation": "eager"}  # attention as it is written down


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(3)
    transformers.logging.disable_progress_bar()


def _theirs(family, **changes):
    """transformers' own model of this shape, every weight drawn at random."""
    config = transformers.AutoConfig.for_model(**{**config_of(family), **changes})
    model = _auto(config).from_config(config, **EAGER).eval()
    middle = 0.0 if family == "gemma3_text" else 1.0  # Gemma's norms add 1 to their weight
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(middle if "norm" in name.lower() and name.endswith("weight") else 0.0, 0.1)
    return model


def _auto(config):
    """The class of encoders: of T5 not the whole, which has a decoder too."""
    return transformers.AutoModelForTextEncoding if config.model_type == "t5" else transformers.AutoModel


@torch.no_grad()
def _check(model, encoder, tokens: Ragged, close=1e-5) -> None:
    layers = list(encoder(tokens))
    start = 0
    for sentence in tokens.split():
        states = model(input_ids=sentence[None], output_hidden_states=True).hidden_states
        assert len(states) == len(layers)
        for ours, theirs in zip(layers, states, strict=True):
            torch.testing.assert_close(ours[start : start + len(sentence)], theirs[0], atol=close, rtol=0)
        start += len(sentence)


@pytest.mark.parametrize("family", KNOWN)
def test_all_layers_are_those_of_transformers(family, tmp_path):
    model = _theirs(family)
    model.save_pretrained(tmp_path)
    _check(model, load_encoder(tmp_path), pack(LENGTHS))


@pytest.mark.parametrize("family", [family for family in DEFAULTS if family in KNOWN])
def test_a_config_of_the_required_keys_alone_is_read_as_transformers_reads_it(family, tmp_path):
    padding = {"pad_token_id": 0} if family == "modernbert" else {}  # its own lies beyond a small vocabulary
    config = transformers.AutoConfig.for_model(**required(family), **padding)
    model = _auto(config).from_config(config, **EAGER).eval()
    model.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(required(family)))
    encoder = load_encoder(tmp_path)
    _check(model, encoder, pack(LENGTHS))
    ours, theirs = DEFAULTS[family], config.to_dict()
    names = ("layer_norm_eps", "norm_eps", "layer_norm_epsilon", "rms_norm_eps")
    assert ours["eps"] == next((theirs[key] for key in names if key in theirs), 1e-12)
    rates = [theirs[key] for key in ("hidden_dropout_prob", "dropout", "mlp_dropout", "dropout_rate") if key in theirs]
    own = [theirs[key] for key in ("attention_probs_dropout_prob", "attention_dropout") if key in theirs]
    assert tuple([ours[key]] if key in ours else [] for key in ("dropout", "attention_dropout")) == (rates, own)


@pytest.mark.parametrize("family", KNOWN)
def test_transformers_reads_what_we_write(family, tmp_path):
    _theirs(family).save_pretrained(tmp_path / "theirs")
    (tmp_path / "ours").mkdir()
    encoder = load_encoder(tmp_path / "theirs")
    save_encoder(encoder, tmp_path / "ours")
    config = transformers.AutoConfig.from_pretrained(tmp_path / "ours")
    model = _auto(config).from_pretrained(tmp_path / "ours", **EAGER).eval()
    _check(model, encoder, pack(LENGTHS))


@pytest.mark.parametrize("stored", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("loaded", [torch.float16, torch.bfloat16, torch.float32])
def test_what_we_write_says_its_own_precision(stored, loaded, tmp_path):
    _theirs("bert").to(getattr(torch, stored)).save_pretrained(tmp_path / "theirs")
    (tmp_path / "ours").mkdir()
    save_encoder(load_encoder(tmp_path / "theirs", loaded), tmp_path / "ours")
    assert transformers.AutoModel.from_pretrained(tmp_path / "ours").dtype == loaded


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_act": "relu"},
        {"hidden_act": "gelu_new"},
        {"num_attention_heads": 1},
        {"layer_norm_eps": 0.1},
        {"num_hidden_layers": 1},
        {"type_vocab_size": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "electra", "albert"])
def test_what_a_config_may_change_is_changed(family, change, tmp_path):
    if family == "albert" and "num_hidden_layers" in change:
        change = {"num_hidden_layers": 5, "num_hidden_groups": 3}
    model = _theirs(family, **change)
    model.save_pretrained(tmp_path)
    _check(model, load_encoder(tmp_path), pack([9, 5]))


@pytest.mark.parametrize("style", ["older", "newer"])
@pytest.mark.parametrize(
    "change", [{}, {"norm_bias": True, "attention_bias": True, "mlp_bias": True}], ids=["plain", "biased"]
)
def test_modernbert_beyond_its_local_window_in_both_styles_of_config(style, change, tmp_path):
    model = _theirs("modernbert", **change, max_position_embeddings=300)
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert "rope_parameters" in config
    if style == "older":
        for key in ("rope_parameters", "layer_types"):
            config.pop(key, None)
        config |= {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "global_attn_every_n_layers": 2}
    (tmp_path / "config.json").write_text(json.dumps(config))
    encoder = load_encoder(tmp_path)
    assert encoder.shape.reach == 4
    _check(model, encoder, pack([129, 3, 250, 9, 8, 5, 4, 1], seed=1), close=2e-5)


@pytest.mark.parametrize("length", [64, 900])
def test_what_nomics_own_code_writes_is_read_as_well(length, tmp_path):
    model = _theirs("nomic_bert", max_position_embeddings=1000)
    model.save_pretrained(tmp_path)
    write(
        tmp_path / "config.json", {**NOMIC, "n_positions": 1000, "auto_map": {"AutoModel": "modeling.NomicBertModel"}}
    )
    _check(model, load_encoder(tmp_path), pack([length, 5]), close=2e-5)


@pytest.mark.parametrize("segments", [0, 1])
def test_what_gtes_own_code_writes_is_read_as_well(segments, tmp_path):
    model = _theirs("gte", type_vocab_size=segments, max_position_embeddings=1000)
    model.save_pretrained(tmp_path)
    amend(
        tmp_path / "config.json",
        **{**config_of("new"), "type_vocab_size": segments, "max_position_embeddings": 1000},
        rope_parameters=None,
        auto_map={"AutoModel": "Alibaba-NLP/new-impl--modeling.NewModel"},
    )
    _check(model, load_encoder(tmp_path), pack([900, 64, 5]), close=2e-5)


@pytest.mark.parametrize("gates", ["geglu", "reglu"])
@pytest.mark.parametrize("heads", [4, 6])
def test_jinas_bert_is_a_bert_with_slopes_for_positions_and_gates(heads, gates, tmp_path):
    """No library that runs without the folder's code knows it: transformers' BERT, two of its parts replaced."""
    sizes = {"hidden_size": 48, "num_attention_heads": heads}
    encoder = random_encoder({**config_of("jina_bert"), **sizes, "feed_forward_type": gates})
    save_encoder(encoder, tmp_path)
    theirs = JinasBert(load_file(tmp_path / "model.safetensors"), {**config_of("bert"), **sizes}, gates)
    _check(theirs, load_encoder(tmp_path), pack([64, 1, 17, 5]), close=2e-6)


class JinasBert:
    """transformers' BERT with ALiBi's biases in place of a mask and Jina's network in place of its own."""

    def __init__(self, weights, sizes, gates):
        config = transformers.BertConfig(**sizes, attn_implementation="eager")
        self.bert = transformers.BertModel(config, add_pooling_layer=False).eval()
        self.weights, self.heads = weights, config.num_attention_heads
        self.activation = {"geglu": torch.nn.functional.gelu, "reglu": torch.relu}[gates]
        found = self.bert.load_state_dict(weights, strict=False)
        assert all(".mlp." in name for name in found.unexpected_keys)
        for layer in self.bert.encoder.layer:
            torch.nn.init.zeros_(self.bert.embeddings.position_embeddings.weight)
            layer.attention.self.attention_dropout = 0.0

    def __call__(self, input_ids, output_hidden_states):
        x = self.bert.embeddings(input_ids)
        at = torch.arange(x.shape[1])
        slopes = torch.tensor(slow_slopes(self.heads))[:, None, None]
        mask = (-slopes * (at[None] - at[:, None]).abs())[None]
        states = [x]
        for i, layer in enumerate(self.bert.encoder.layer):
            attended = layer.attention(x, attention_mask=mask)
            x = attended[0] if isinstance(attended, tuple) else attended
            x = self._network(x, f"encoder.layer.{i}.mlp")
            states.append(x)
        return SimpleNamespace(hidden_states=states)

    def _network(self, x, at):
        value, gate = (x @ self.weights[f"{at}.gated_layers.weight"].T).chunk(2, -1)
        wide = (self.activation(value) * gate) @ self.weights[f"{at}.wo.weight"].T + self.weights[f"{at}.wo.bias"]
        norm = self.weights[f"{at}.layernorm.weight"], self.weights[f"{at}.layernorm.bias"]
        return torch.nn.functional.layer_norm(x + wide, x.shape[-1:], *norm, eps=self.bert.config.layer_norm_eps)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("style", ["older", "newer"])
def test_gemma_both_ways_and_causal_beyond_its_local_window(style, both, tmp_path):
    model = _theirs("gemma3_text", max_position_embeddings=300, use_bidirectional_attention=both)
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert "rope_parameters" in config
    if style == "older":
        amend(tmp_path / "config.json", rope_parameters=None, rope_theta=1_000_000.0, rope_local_base_freq=10_000.0)
    encoder = load_encoder(tmp_path)
    assert encoder.shape.reaches == ((4, -1, 4) if both else (7, -1, 7))
    _check(model, encoder, pack([129, 3, 250, 9, 8, 5, 4, 1], seed=1), close=4e-5)


LONG = {"max_position_embeddings": 400}
GROUPED = [{"attention_bias": True}, {"num_key_value_heads": 4}, {"head_dim": 8, "num_attention_heads": 8}]
SHAPES = [
    *(("electra", {"embedding_size": width}) for width in (8, 32)),  # narrower words than layers, and equal ones
    *((family, change) for family in ("qwen3", "gemma3_text") for change in GROUPED),
    *(("deberta-v2", {**LONG, **change}) for change in ({}, {"max_relative_positions": 40}, {"type_vocab_size": 2})),
    *(("mpnet", LONG), ("t5", {}), ("t5_gated", {})),
]


@pytest.mark.parametrize(("family", "change"), SHAPES, ids=str)
def test_other_shapes_and_positions_beyond_the_farthest_bucket(family, change, tmp_path):
    model = _theirs(family, **change)
    model.save_pretrained(tmp_path)
    lengths = [301, 129, 128, 17, 1] if family in ("deberta-v2", "mpnet", "t5", "t5_gated") else [64, 9, 5]
    _check(model, load_encoder(tmp_path), pack(lengths), close=3e-5)


OTHERS = {
    "xlnet": lambda: transformers.XLNetConfig(vocab_size=200, d_model=32, n_layer=2, n_head=4, d_inner=48),
    "deberta-v2": lambda: transformers.DebertaV2Config(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        share_att_key=False,
        max_position_embeddings=64,
    ),
    "qwen3": lambda: transformers.Qwen3Config(
        **config_of("qwen3"), use_sliding_window=True, sliding_window=3, max_window_layers=1
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_any_other_architecture_comes_through_transformers(kind, tmp_path):
    model = transformers.AutoModel.from_config(OTHERS[kind]()).eval()
    model.save_pretrained(tmp_path / "model")
    wordpieces().save(str(tmp_path / "model/tokenizer.json"))
    encoder = load_encoder(tmp_path / "model")
    assert isinstance(encoder, AutoEncoder)
    _check(model, encoder, pack([9, 1, 5, 5]))
    embedder = Embedder.load(tmp_path / "model", pooling="mean")
    vectors = embedder.encode(["a cat", "the quick dog"])
    embedder.save(tmp_path / "saved")
    again = Embedder.load(tmp_path / "saved")
    assert abs(again.encode(["a cat", "the quick dog"]) - vectors).max() < 1e-6
    assert again.fingerprint == embedder.fingerprint


def test_an_architecture_that_nobody_knows_is_refused(tmp_path):
    model = _theirs("bert")
    model.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "no-such-kind"}')
    with pytest.raises(BadModel, match="transformers cannot read"):
        load_encoder(tmp_path)
