"""Every family's classifier beside transformers, and sentence-transformers' CrossEncoder on the same folders."""

import json

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import CrossEncoder as TheirCrossEncoder

from likewise import Reranker
from likewise.reranker.classification_heads import CLASSIFIERS
from tests.tiny import LONG, OWN_CODE, amend, config_of, model_folder, wordpieces

PAIRS = [
    ("a cat sleeps", "the dog and the cat"),
    ("", "one text is empty"),
    ("x", "1 2 3"),
    (LONG, "a short one after a long one"),
    ("a short one", LONG),
    (LONG, LONG[::-1]),
    ("a cat sleeps", "the dog and the cat"),
    ("the quick brown fox", "jumps over, and on and on, the lazy dog"),
]
families = pytest.mark.parametrize("family", [family for family in CLASSIFIERS if family not in OWN_CODE])


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(3)
    transformers.logging.disable_progress_bar()


def close(found, expected):
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


def _theirs(folder, family, labels=1, **changes):
    """transformers' own classifier of this shape, every weight drawn at random, in a folder with a tokenizer."""
    config = transformers.AutoConfig.for_model(**{**config_of(family), **changes}, num_labels=labels)
    model = transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0, 0.1)
    model.save_pretrained(folder)
    _tokenizer(family).save_pretrained(folder)
    return model


def _tokenizer(family):
    rounded = config_of(family).get("pad_token_id") == 1
    words = ("<s>", "</s>", "<pad>", "<unk>") if rounded else ("[CLS]", "[SEP]", "[PAD]", "[UNK]")
    named = dict(zip(("cls_token", "sep_token", "pad_token", "unk_token"), words, strict=True))
    reported = family in ("bert", "electra", "albert")
    inputs = ["input_ids", *(["token_type_ids"] if reported else []), "attention_mask"]
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=wordpieces(rounded), model_max_length=64, model_input_names=inputs, **named
    )


@torch.no_grad()
def _logits(model, tokenizer) -> np.ndarray:
    """One pair at a time, so that no padding has a say."""
    result = [model(**tokenizer(*pair, truncation="longest_first", return_tensors="pt")).logits[0] for pair in PAIRS]
    return torch.stack(result).numpy()


@families
@pytest.mark.parametrize("labels", [1, 3])
def test_logits_are_those_of_transformers(family, labels, tmp_path):
    model = _theirs(tmp_path, family, labels)
    ours = Reranker.load(tmp_path).logits(PAIRS, overflow="truncate")
    close(ours, _logits(model, _tokenizer(family)))


@families
def test_scores_are_those_of_sentence_transformers_and_so_is_what_we_save(family, tmp_path):
    _theirs(tmp_path / "plain", family)
    theirs = TheirCrossEncoder(str(tmp_path / "plain"), device="cpu")
    expected = theirs.predict(PAIRS)
    ours = Reranker.load(tmp_path / "plain")
    close(ours.score(PAIRS, overflow="truncate"), expected)
    theirs.save_pretrained(str(tmp_path / "newer"))
    close(Reranker.load(tmp_path / "newer").score(PAIRS, overflow="truncate"), expected)
    ours.save(tmp_path / "saved")
    again = TheirCrossEncoder(str(tmp_path / "saved"), device="cpu")
    close(again.predict(PAIRS), expected)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "saved", attn_implementation="eager"
    ).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    close(_logits(model, tokenizer), ours.logits(PAIRS, overflow="truncate"))


@pytest.mark.parametrize("length", [9, 12, 33])
def test_a_shorter_length_that_we_save_is_read_by_all(length, tmp_path):
    _theirs(tmp_path / "plain", "bert")
    ours = Reranker.load(tmp_path / "plain", max_seq_length=length)
    ours.save(tmp_path / "saved")
    theirs = TheirCrossEncoder(str(tmp_path / "saved"), device="cpu")
    assert theirs.max_seq_length == length
    close(ours.score(PAIRS, overflow="truncate"), theirs.predict(PAIRS))


@pytest.mark.parametrize("where", ["config_sentence_transformers.json", "config.json, newer", "config.json, older"])
@pytest.mark.parametrize("activation", ["torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Tanh"])
def test_the_activation_is_read_wherever_a_version_wrote_it(where, activation, tmp_path):
    _theirs(tmp_path, "bert")
    if where.startswith("config_"):
        TheirCrossEncoder(str(tmp_path), device="cpu").save_pretrained(str(tmp_path))
        amend(tmp_path / "config_sentence_transformers.json", activation_fn=activation)
    elif where.endswith("newer"):
        amend(tmp_path / "config.json", sentence_transformers={"version": "4.0.0", "activation_fn": activation})
    else:
        amend(tmp_path / "config.json", sbert_ce_default_activation_function=activation)
    expected = TheirCrossEncoder(str(tmp_path), device="cpu").predict(PAIRS)
    ours = Reranker.load(tmp_path)
    sigmoid = 1 / (1 + np.exp(-ours.logits(PAIRS, overflow="truncate")[:, 0]))
    assert abs(expected - sigmoid).max() > 0.01  # else nothing would tell one from the other
    close(ours.score(PAIRS, overflow="truncate"), expected)
    ours.save(tmp_path / "saved")
    close(TheirCrossEncoder(str(tmp_path / "saved"), device="cpu").predict(PAIRS), expected)


def test_a_prompt_stands_before_the_first_text(tmp_path):
    _theirs(tmp_path / "plain", "bert")
    theirs = TheirCrossEncoder(
        str(tmp_path / "plain"), prompts={"query": "the query: "}, default_prompt_name="query", device="cpu"
    )
    theirs.save_pretrained(str(tmp_path / "prompted"))
    ours = Reranker.load(tmp_path / "prompted")
    close(ours.score(PAIRS, overflow="truncate"), theirs.predict(PAIRS))


def test_ranks_are_those_of_sentence_transformers(tmp_path):
    _theirs(tmp_path, "roberta")
    documents = [second for _, second in PAIRS[:3]] + ["another", "the last one"]
    expected = TheirCrossEncoder(str(tmp_path), device="cpu").rank("a cat sleeps", documents, top_k=3)
    ours = Reranker.load(tmp_path).rank("a cat sleeps", documents, k=3)
    assert [i for i, _ in ours] == [row["corpus_id"] for row in expected]
    np.testing.assert_allclose([s for _, s in ours], [row["score"] for row in expected], atol=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("biased", [True, False])
def test_modernbert_in_every_form_of_its_head(pooling, biased, tmp_path):
    changes = {"classifier_pooling": pooling, "classifier_bias": biased, "norm_bias": biased}
    model = _theirs(tmp_path, "modernbert", 2, classifier_activation="relu", **changes)
    ours = Reranker.load(tmp_path).logits(PAIRS, overflow="truncate")
    close(ours, _logits(model, _tokenizer("modernbert")))


@pytest.mark.parametrize(
    ("pooling", "labels", "activation"),
    [("cls", 1, "Identity"), ("mean", 1, "Sigmoid"), ("mean", 3, "Identity"), ("max", 1, "Identity")],
)
@pytest.mark.parametrize("family", ["modernbert", "bert", "mpnet", "roberta"])
def test_a_reranker_of_several_modules(family, pooling, labels, activation, tmp_path):
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling

    model_folder(tmp_path / "plain", family, plain=True)
    _tokenizer(family).save_pretrained(tmp_path / "plain")
    modules = [
        Transformer(str(tmp_path / "plain")),
        Pooling(32, pooling),
        Dense(32, 16, bias=False, activation_function=torch.nn.GELU()),
        LayerNorm(16),
        Dense(16, labels, activation_function=torch.nn.Identity(), module_output_name="scores"),
    ]
    theirs = TheirCrossEncoder(modules=modules, activation_fn=getattr(torch.nn, activation)(), device="cpu")
    expected = theirs.predict(PAIRS)
    theirs.save_pretrained(str(tmp_path / "theirs"))
    ours = Reranker.load(tmp_path / "theirs")
    found = ours.score(PAIRS, overflow="truncate") if labels == 1 else ours.logits(PAIRS, overflow="truncate")
    np.testing.assert_allclose(found, expected, atol=2e-6, rtol=0)
    ours.save(tmp_path / "ours")
    again = TheirCrossEncoder(str(tmp_path / "ours"), device="cpu")
    np.testing.assert_allclose(again.predict(PAIRS), expected, atol=2e-6, rtol=0)


def test_softmax_of_several_labels_is_theirs(tmp_path):
    _theirs(tmp_path, "electra", 3)
    amend(tmp_path / "config.json", id2label={"0": "contradiction", "1": "entailment", "2": "neutral"}, label2id=None)
    expected = TheirCrossEncoder(str(tmp_path), device="cpu").predict(PAIRS, apply_softmax=True)
    ours = Reranker.load(tmp_path)
    close(ours.probabilities(PAIRS, overflow="truncate"), expected)
    close(ours.score(PAIRS, label="entailment", overflow="truncate"), expected[:, 1])
    assert json.loads((tmp_path / "config.json").read_text())["id2label"]["1"] == "entailment"
