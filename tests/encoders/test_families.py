"""Every family of encoders, by the same promises."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from likewise import Ragged
from likewise.encoders.families import FAMILIES
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadModel
from tests.tiny import CONFIGS, LONG, TEXTS, TRANSFORMERS, config_of, pack, random_encoder

families = pytest.mark.parametrize("family", FAMILIES)
transformers = pytest.mark.parametrize("family", TRANSFORMERS)
BAG = "words"  # the one family that does not know the order of words


def test_every_family_has_a_tiny_model():
    assert set(CONFIGS) == set(FAMILIES)


@families
def test_vectors_are_those_of_one_sentence_at_a_time_whatever_the_batch(family, embedders):
    whole = embedders(family).encode(TEXTS)
    for budget in (1, 17, 40):
        np.testing.assert_allclose(embedders(family).encode(TEXTS, batch_tokens=budget), whole, atol=1e-6)


@families
def test_rows_keep_the_order_of_the_texts(family, embedders):
    forward, backward = embedders(family).encode(TEXTS), embedders(family).encode(TEXTS[::-1])
    np.testing.assert_allclose(forward, backward[::-1], atol=1e-6)


@families
def test_equal_texts_have_equal_vectors_and_others_have_others(family, embedders):
    vectors = embedders(family).encode(TEXTS)
    assert np.array_equal(vectors[0], vectors[5])
    distances = np.abs(vectors[:, None] - vectors[None]).max(2)
    assert {tuple(sorted(pair)) for pair in np.argwhere(distances < 1e-4) if pair[0] != pair[1]} == {(0, 5)}


@families
def test_the_order_of_words_matters(family, embedders):
    one, other = embedders(family).encode(["a b c d e f", "f e d c b a"])
    assert (np.abs(one - other).max() > 1e-4) == (family != BAG)


@families
def test_vectors_are_finite_unit_float32(family, embedders):
    vectors = embedders(family).encode([*TEXTS, LONG], overflow="truncate")
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@families
def test_a_saved_model_loads_with_the_same_vectors_and_fingerprint(family, embedders, tmp_path):
    embedders(family).save(tmp_path / "saved")
    again = TorchEmbedder.load(tmp_path / "saved")
    assert again.fingerprint == embedders(family).fingerprint
    assert np.array_equal(again.encode(TEXTS), embedders(family).encode(TEXTS))


@families
def test_there_is_a_layer_more_than_blocks(family, embedders):
    encoder = embedders(family).encoder
    tokens = pack([7, 7, 3, 1])
    layers = list(encoder(tokens))
    assert len(layers) == encoder.depth + 1
    assert {layer.shape for layer in layers} == {(18, encoder.width)}
    assert all(not torch.equal(a, b) for a, b in itertools.pairwise(layers))


@transformers
def test_layers_on_a_cpu_are_those_of_the_tokens_as_they_are(family, embedders):
    encoder, tokens = embedders(family).encoder, pack([9, 9, 5, 3, 1])
    with torch.inference_mode():
        assert len(tokens.rounded().values) > len(tokens.values)
        for rounded, exact in zip(encoder(tokens), encoder.states(tokens), strict=True):
            torch.testing.assert_close(rounded, exact, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("grad", "training", "autocast", "rounds"),
    [
        (False, False, False, True),
        (True, False, False, False),
        (False, True, False, False),
        (True, True, False, False),
        (True, True, True, True),
    ],
)
def test_the_number_of_tokens_is_rounded_in_bf16_and_where_nothing_is_trained(grad, training, autocast, rounds):
    encoder, tokens, seen = random_encoder(config_of("bert")).train(training), pack([9, 9, 5, 3, 1]), []
    encoder.states = lambda tokens: iter(seen.append(len(tokens.values)) or ())
    with torch.set_grad_enabled(grad), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        assert list(encoder(tokens)) == []
    assert seen == [len(tokens.rounded().values) if rounds else 27]


@transformers
def test_products_meet_few_numbers_of_rows(family, embedders):
    encoder, rows = embedders(family).encoder, set()
    linears = [part for part in encoder.modules() if isinstance(part, nn.Linear)]
    hooks = [part.register_forward_pre_hook(lambda _, given: rows.add(given[0].shape[0])) for part in linears]
    with torch.inference_mode():
        for count in range(1, 401):
            next(itertools.islice(encoder(Ragged(torch.full((count,), 5), (1,) * count)), 1, None))
    for hook in hooks:
        hook.remove()
    assert linears
    assert len(rows) == 15 + 4 * 8 + 6, "oneDNN makes and keeps code for each of them"


@transformers
def test_layers_are_made_as_they_are_asked_for(family):
    encoder = random_encoder(config_of(family))
    ran = []
    for block in encoder.blocks:
        block.register_forward_hook(lambda *_: ran.append(1))
    layers = encoder(pack([5, 2]))
    next(layers)
    assert len(ran) == 0
    next(layers)
    assert len(ran) == 1


@families
def test_layers_and_tokens_have_a_row_a_piece(family, embedders):
    embedder = embedders(family)
    layers, tokens, pieces = embedder.encode_layers(TEXTS), embedder.encode_tokens(TEXTS), embedder.pieces(TEXTS)
    for several, last, names in zip(layers, tokens, pieces, strict=True):
        assert several.shape == (embedder.encoder.depth + 1, len(names), 32)
        assert np.array_equal(several[-1], last)
    means = np.stack([t.mean(0) for t in tokens])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(embedder.encode(TEXTS), means, atol=1e-6)


@families
def test_gradients_reach_every_weight_and_the_read_words_alone(family, folders):
    embedder = TorchEmbedder.load(folders(family)).eval()
    tokens = Ragged.of([[5, 6, 7, 8, 9, 10, 11, 12], [20, 21, 22]])
    goal = torch.linspace(-1, 1, 32)
    (embedder(tokens) * goal).sum().backward()
    words = next(m for m in embedder.encoder.modules() if isinstance(m, torch.nn.Embedding)).weight.grad
    assert words.abs().sum(1).nonzero().squeeze(1).tolist() == sorted(tokens.values.tolist())
    idle = [name for name, p in embedder.named_parameters() if p.grad is None or not p.grad.abs().sum()]
    assert idle == []


@families
def test_with_gradients_and_without_vectors_are_the_same(family, folders):
    embedder = TorchEmbedder.load(folders(family))
    tokens = pack([11, 11, 4, 1])
    with torch.no_grad():
        without = embedder(tokens)
    torch.testing.assert_close(embedder(tokens), without, atol=1e-6, rtol=0)


@families
def test_dropout_is_there_in_training_and_gone_afterwards(family, folders):
    embedder = TorchEmbedder.load(folders(family))
    tokens = pack([11, 4])
    rates = [m.p for m in embedder.modules() if isinstance(m, torch.nn.Dropout)]
    before = embedder(tokens)
    embedder.train()
    changed = not torch.allclose(embedder(tokens), before, atol=1e-4)
    assert changed == any(rates)
    torch.testing.assert_close(embedder.eval()(tokens), before)


@families
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_is_near_full_precision(family, precision, folders, embedders):
    half = TorchEmbedder.load(folders(family), precision=precision)
    assert half.precision == precision
    vectors = half.encode(TEXTS)
    assert vectors.dtype == np.float32
    cosines = (vectors * embedders(family).encode(TEXTS)).sum(1)
    assert cosines.min() > (0.995 if precision == "bf16" else 0.9999)


SIZES = ("vocab_size", "num_hidden_layers", "num_attention_heads", "hidden_size")
OWN_SIZES = {"distilbert": ("vocab_size", "n_layers", "n_heads", "dim")}
OWN_SIZES |= dict.fromkeys(("t5", "t5_gated"), ("vocab_size", "num_layers", "num_heads", "d_model"))
OWN_SIZES |= {f: tuple(k for k in CONFIGS[f] if k != "ngram_buckets") for f in FAMILIES if f not in TRANSFORMERS}


@pytest.mark.parametrize(("family", "key"), [(f, key) for f in FAMILIES for key in OWN_SIZES.get(f, SIZES)])
@pytest.mark.parametrize("value", [0, -1, 1.5, "many", None, True, 10**12, [3], {}])
def test_a_size_that_no_encoder_has_is_refused_by_name(family, key, value):
    with pytest.raises(BadModel, match=key):
        FAMILIES[family].build({**config_of(family), key: value})


@transformers
def test_heads_that_do_not_divide_the_width_are_refused(family):
    key = OWN_SIZES.get(family, SIZES)[2]
    with pytest.raises(BadModel, match="heads"):
        FAMILIES[family].build({**config_of(family), key: 5})


@pytest.mark.parametrize(
    ("family", "change"),
    [
        ("bert", {"hidden_act": "tanh?"}),
        ("bert", {"hidden_act": ["gelu"]}),
        ("bert", {"position_embedding_type": "relative_key"}),
        ("bert", {"is_decoder": True}),
        ("bert", {"layer_norm_eps": -1}),
        ("bert", {"layer_norm_eps": float("nan")}),
        ("albert", {"inner_group_num": 2}),
        ("modernbert", {"layer_types": ["full_attention"]}),
        ("modernbert", {"layer_types": ["other"] * 4}),
        ("modernbert", {"layer_types": 7}),
        ("modernbert", {"layer_types": [["full_attention"]] * 4}),
        ("modernbert", {"rope_parameters": [1]}),
        ("modernbert", {"rope_parameters": {"full_attention": 3}}),
        ("modernbert", {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}),
        ("modernbert", {"global_rope_theta": "much"}),
    ],
)
def test_a_variant_that_would_be_computed_wrongly_is_refused(family, change):
    with pytest.raises(BadModel, match=next(iter(change)).split("_")[0]):
        FAMILIES[family].build({**config_of(family), **change})


def test_newer_rope_parameters_are_the_older_keys():
    older = config_of("modernbert") | {"global_rope_theta": 5000.0, "local_rope_theta": 700.0}
    newer = {k: v for k, v in config_of("modernbert").items() if "rope_theta" not in k}
    newer["rope_parameters"] = {
        "full_attention": {"rope_type": "default", "rope_theta": 5000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 700.0},
    }
    assert FAMILIES["modernbert"].build(older).shape == FAMILIES["modernbert"].build(newer).shape


@pytest.mark.parametrize(("words", "word_width"), [(16, 16), (32, 0), (None, 128)])
def test_electras_words_are_mapped_only_where_they_have_another_width_than_the_model(words, word_width):
    config = {key: value for key, value in config_of("electra").items() if key != "embedding_size"}
    given = config if words is None else {**config, "embedding_size": words}
    assert FAMILIES["electra"].shape(given).word_width == word_width
