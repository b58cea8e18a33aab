"""A cosine as a sum over word pairs: it adds up for all linear pooling methods and engines; others are refused."""

import json
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from likewise import Embedder
from likewise.engine_registry import ENGINES
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel
from likewise.explain import explain_pair, plots, word_pairs
from likewise.heads import Dense, Norm, Normalize, Truncate
from likewise.pooling import Fusion, Reduce, Stack
from tests.native_library import NATIVE
from tests.tiny import LONG, write

A, B = "The cat and the dog", "a quick query, on 7 dogs"
REDUCTIONS = "mean", "mean-sqrt-len", "weighted-mean"
POOLINGS = dict.fromkeys(REDUCTIONS, ()) | {
    "sbert-wk:start=0": ("0", "1", "2", "3"),
    "sbert-wk:start=1,window=1": ("1", "2", "3"),
    "sbert-wk:start=0,robust=false": ("0", "1", "2", "3"),
    "mean:layers=0+3": ("0", "3"),
}
"""The layers that an explanation names, by pooling method; none if it reads only one layer."""
ENGINE_NAMES = [name for name in ENGINES if name != "native" or NATIVE]


def cosine(embedder: Embedder, first: str, second: str) -> float:
    return float(embedder.pair_scores([first], [second])[0])


def with_heads(tiny: Embedder, *heads: nn.Module, pooling: object = None) -> TorchEmbedder:
    torch.manual_seed(1)
    chosen = tiny.pooling if pooling is None else pooling
    return TorchEmbedder(tiny.tokenizer, tiny.encoder, chosen, nn.Sequential(*heads), tiny.manifest).eval()


def fusion() -> Fusion:
    torch.manual_seed(0)
    made = Fusion(Stack(Reduce.parse("mean"), 1, 3), 32)
    nn.init.normal_(made.map.weight, std=0.2)
    nn.init.normal_(made.map.bias, std=0.2)
    return made


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_contributions_add_up_to_the_cosine(engine, pooling, folders):
    embedder = Embedder.load(folders("bert"), engine=engine, pooling=pooling)
    found = explain_pair(embedder, A, B)
    expected = cosine(embedder, A, B)
    assert found.cosine == pytest.approx(expected, abs=1e-5)
    assert found.by_layer.sum() == pytest.approx(expected, abs=1e-5)
    assert found.contributions.shape == tuple(len(words) for words in found.words)
    assert found.layers == POOLINGS[pooling]


@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_layers_parts_of_a_contribution_add_up_to_it_and_to_the_layers_rows_and_columns(pooling, folders):
    found = explain_pair(Embedder.load(folders("bert"), engine="numpy", pooling=pooling), A, B)
    np.testing.assert_allclose(found.layer_contributions.sum(0), found.contributions, atol=1e-9)
    halves = (found.by_layer.sum(0) + found.by_layer.sum(1)) / 2
    np.testing.assert_allclose(found.layer_contributions.sum((1, 2)), halves, atol=1e-9)


def test_a_contribution_is_the_product_of_two_tokens_parts(tiny):
    found = explain_pair(tiny, "cat x", "dog")  # each word is one token
    (first,), (second,) = tiny.encode_tokens(["cat x"]), tiny.encode_tokens(["dog"])
    u, v = first.mean(0), second.mean(0)
    by_hand = np.zeros((4, 3))
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            by_hand[i, j] = a @ b / len(first) / len(second) / np.linalg.norm(u) / np.linalg.norm(v)
    np.testing.assert_allclose(found.contributions, by_hand, atol=1e-6)


@pytest.fixture(scope="module")
def plain(folders) -> Embedder:
    return Embedder.load(folders("bert"), engine="numpy")


@given(st.text("catdog quick,.x ", max_size=25), st.text("the query on 7", max_size=25))
def test_they_add_up_for_any_texts(plain, first, second):
    found = explain_pair(plain, first, second)
    assert found.cosine == pytest.approx(cosine(plain, first, second), abs=1e-5)
    for text, words in zip((first, second), found.words, strict=True):
        assert "".join(word.text for word in words[1:-1]) == "".join(text.split())


HEADS = {
    "dense": lambda: [Dense(32, 8, activation="Identity")],
    "without a bias": lambda: [Dense(32, 8, bias=False, activation="Identity"), Normalize()],
    "normalised before": lambda: [Normalize(), Dense(32, 8, activation="Identity"), Normalize()],
    "truncated": lambda: [Normalize(), Truncate(5), Normalize()],
}


@pytest.mark.parametrize("pooling", [*REDUCTIONS, "fusion"])
@pytest.mark.parametrize("heads", HEADS)
def test_linear_heads_and_fusions_are_folded(heads, pooling, tiny, tmp_path):
    made = with_heads(tiny, *HEADS[heads](), pooling=fusion() if pooling == "fusion" else Reduce.parse(pooling))
    expected = cosine(made, A, B)
    found = explain_pair(made, A, B)
    assert found.cosine == pytest.approx(expected, abs=1e-5) and abs(expected) < 0.999
    assert found.layers == (("1", "2", "3", "bias") if pooling == "fusion" else ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.save(tmp_path / "model")
    again = explain_pair(Embedder.load(tmp_path / "model", engine="numpy"), A, B)
    np.testing.assert_allclose(again.contributions, found.contributions, atol=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "max", "last-token", "cls+mean"])
def test_a_pooling_that_is_no_sum_over_words_is_refused(pooling, folders):
    embedder = Embedder.load(folders("bert"), engine="numpy", pooling=pooling)
    with pytest.raises(
        BadInput, match="which is not a weighted sum of all words; pooling methods that can be explained: sbert-wk"
    ):
        explain_pair(embedder, A, B)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (lambda: Dense(32, 8, activation="Tanh"), "Dense head with the activation Tanh, which is not linear"),
        (lambda: Norm(32), "LayerNorm head, which is not linear"),
    ],
)
def test_a_head_that_is_not_linear_is_refused(head, message, tiny):
    with pytest.raises(BadInput, match=message):
        explain_pair(with_heads(tiny, head()), A, B)


def test_vectors_without_a_direction_are_refused(tiny, folders):
    head = Dense(32, 8, bias=False, activation="Identity")
    nn.init.zeros_(head.linear.weight)
    with pytest.raises(BadInput, match="one of the texts is zero, so there is no cosine"):
        explain_pair(with_heads(tiny, head), A, B)
    embedder = Embedder.load(folders("bert"), engine="numpy", pooling="sbert-wk:start=0,robust=false")
    with pytest.raises(BadInput, match="infinite weights; load the model with robust=true"):
        word_pairs.token_parts(embedder, np.ones((4, 3, 32), np.float32), 0)


@pytest.mark.parametrize("included", [True, False])
@pytest.mark.parametrize("pooling", ["mean", "weighted-mean", "sbert-wk:start=0", "mean:layers=1+3"])
def test_a_prompt_is_read_and_left_out_as_the_model_does(included, pooling, own):
    folder = own(
        "bert",
        spoken={"prompts": {"query": "query: "}, "default_prompt_name": "query"},
        pooling={"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "include_prompt": included},
    )
    embedder = Embedder.load(folder, engine="numpy", pooling=pooling)
    found = explain_pair(embedder, A, B)
    assert found.cosine == pytest.approx(cosine(embedder, A, B), abs=1e-5)
    assert [word.text for word in found.words[0]][:4] == ["[CLS]", "query", ":", "The"]
    assert (abs(found.contributions[:3]).max() > 0) == included


@pytest.mark.parametrize("family", ["words", "dan", "bilstm", "modernbert", "roberta"])
def test_every_kind_of_encoder_is_explained(family, folders):
    embedder = Embedder.load(folders(family), engine="torch", pooling="mean")
    found = explain_pair(embedder, A, B)
    assert found.cosine == pytest.approx(cosine(embedder, A, B), abs=1e-5)


def words_model(folder: Path, buckets: int) -> Embedder:
    write(folder / "unknown_words.json", {"id": 1, "least": 3, "most": 4, "buckets": buckets, "first": 200})
    return Embedder.load(folder, engine="torch")


@pytest.mark.parametrize(("buckets", "words"), [(0, ["the", "cat"]), (50, ["the", "[UNK]", "cat"])])
def test_an_unknown_word_is_left_out_or_is_one_word_despite_its_n_grams(buckets, words, own):
    embedder = words_model(own("words", changes={"ngram_buckets": buckets}), buckets)
    found = explain_pair(embedder, "the кошка cat", B)
    assert [tuple(word) for word in found.words[0]] == [(word, False) for word in words]
    assert found.cosine == pytest.approx(cosine(embedder, "the кошка cat", B), abs=1e-5)


def test_words_that_the_encoder_counts_otherwise_than_the_tokenizer_are_refused(own):
    embedder = words_model(own("words", changes={"ngram_buckets": 50, "vocab_size": 300}), 50)
    with pytest.raises(BadInput, match=r"reads \d+ units in a text of 3 tokens, so its words cannot be named"):
        explain_pair(embedder, "the кошка cat", B)


def test_word_pieces_are_merged_into_words_and_special_tokens_are_marked(tiny):
    first, second = explain_pair(tiny, A, "dogs").words
    assert [word.text for word in first] == ["[CLS]", "The", "cat", "and", "the", "dog", "[SEP]"]
    assert [word.special for word in first] == [True, *[False] * 5, True]
    assert [word.text for word in second] == ["[CLS]", "dogs", "[SEP]"]


def test_the_greatest_pairs_come_first_without_special_tokens(tiny):
    found = explain_pair(tiny, A, B)
    pairs = found.top_pairs(5)
    sizes = [abs(pair.contribution) for pair in pairs]
    assert len(pairs) == 5 and sizes == sorted(sizes, reverse=True)
    assert not {"[CLS]", "[SEP]"} & {word for pair in pairs for word in pair[:2]}
    inner = found.contributions[1:-1, 1:-1]
    i, j = np.unravel_index(np.abs(inner).argmax(), inner.shape)
    assert pairs[0] == (found.words[0][1 + i].text, found.words[1][1 + j].text, inner[i, j])
    assert len(found.top_pairs()) == 10 and found.top_pairs()[:5] == pairs
    assert len(found.top_pairs(10_000)) == inner.size
    assert len(found.top_pairs(10_000, special=True)) == found.contributions.size


def test_an_explanation_is_plain_json(folders):
    found = explain_pair(Embedder.load(folders("bert"), engine="numpy", pooling="mean:layers=0+3"), "cat x", "dog")
    assert json.loads(json.dumps(found.as_json())) == {
        "cosine": found.cosine,
        "texts": [
            {"text": text, "words": words, "special": [True, *[False] * (len(words) - 2), True], "totals": list(totals)}
            for text, words, totals in (
                ("cat x", ["[CLS]", "cat", "x", "[SEP]"], found.contributions.sum(1)),
                ("dog", ["[CLS]", "dog", "[SEP]"], found.contributions.sum(0)),
            )
        ],
        "contributions": found.contributions.tolist(),
        "layers": ["0", "3"],
        "by_layer": found.by_layer.tolist(),
        "layer_contributions": found.layer_contributions.tolist(),
    }


@pytest.mark.parametrize("pooling", REDUCTIONS)
def test_of_a_text_that_is_only_a_prompt_the_last_token_counts(pooling, tiny):
    layers = np.random.default_rng(0).normal(size=(4, 3, 32)).astype(np.float32)
    found = word_pairs.token_parts(with_heads(tiny, pooling=Reduce.parse(pooling)), layers, 9)
    assert found.sources == ("3",) and found.shares.tolist() == [0, 0, 1]
    np.testing.assert_allclose(found.vector, layers[-1, -1])


def test_a_truncated_text_is_explained_as_it_is_read(tiny):
    with pytest.warns(UserWarning, match="1 of 2 texts was truncated"):
        found = explain_pair(tiny, LONG, B)
    own = tiny.pair_scores([LONG], [B], overflow="truncate")[0]
    assert found.cosine == pytest.approx(float(own), abs=1e-5)
    limit = tiny.tokenizer.max_content_length
    words = explain_pair(tiny, "cat " * 99, B, overflow="truncate").words[0]
    assert [word.text for word in words] == ["[CLS]", *["cat"] * limit, "[SEP]"]


def test_parts_that_do_not_add_up_are_reported(tiny, monkeypatch):
    own = explain_pair(tiny, A, B).cosine
    monkeypatch.setattr(type(tiny), "pair_scores", lambda *_, **__: np.array([0.123]))
    with pytest.raises(BadModel, match=r"add up to .*own cosine is 0\.123"):
        explain_pair(tiny, A, B)
    for precision, tolerance in (("fp32", 1e-4), ("bf16", 2e-2)):
        monkeypatch.setattr(type(tiny), "precision", precision)
        for factor in (0.99, 1.01):
            monkeypatch.setattr(type(tiny), "pair_scores", lambda *_, own=own + factor * tolerance, **__: [own])
            with pytest.raises(BadModel) if factor > 1 else nullcontext():
                explain_pair(tiny, A, B)


def test_weights_that_are_all_zero_share_equally():
    parts = word_pairs._parts(np.zeros((1, 4, 2), np.float32), [0], np.zeros(4, np.float32))
    np.testing.assert_array_equal(parts.shares, [0.25] * 4)


def test_the_plot_names_the_words_on_both_sides(tiny):
    explanation = explain_pair(tiny, "a cat", "the dog naps")
    axes = plots.explanation_figure(explanation).axes[0]
    first, second = ([plots._label(word) for word in words] for words in explanation.words)
    assert [label.get_text() for label in axes.get_yticklabels()] == first
    assert [label.get_text() for label in axes.get_xticklabels()] == second
