"""Texts to vectors, from one end to the other."""

import json
import os
import subprocess
import sys
from collections import UserDict
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import likewise
from likewise import Embedder, LikewiseError
from likewise.arrays.ragged import Ragged
from likewise.arrays.reductions import REDUCTIONS
from likewise.engines.torch.torch_embedder import TorchEmbedder, require_torch_engine
from likewise.errors import BadInput, BadModel, OutOfMemory, TooLong
from likewise.heads import Dense
from likewise.runtime import progress
from likewise.runtime.devices import PRECISIONS
from likewise.text import inputs
from likewise.text.truncation import Overflow
from tests.tiny import LONG, TEXTS, amend, reweigh, write

POLICIES = get_args(Overflow)


def _close(a, b, atol=1e-6):
    np.testing.assert_allclose(a, b, atol=atol, rtol=0)


# poolings, heads, precisions


@pytest.mark.parametrize("spec", [*REDUCTIONS, "cls+mean", "max+mean+last-token"])
def test_every_pooling_gives_the_same_alone_and_in_company_and_after_saving(spec, folders, tmp_path):
    embedder = TorchEmbedder.load(folders("bert"), pooling=spec)
    vectors = embedder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 32 * len(spec.split("+"))) == (len(TEXTS), embedder.dimension)
    _close(vectors, np.concatenate([embedder.encode([text]) for text in TEXTS]))
    embedder.save(tmp_path / "saved")
    again = TorchEmbedder.load(tmp_path / "saved")
    assert np.array_equal(again.encode(TEXTS), vectors)
    assert again.fingerprint == embedder.fingerprint


@pytest.mark.parametrize("truncate_dim", [1, 8, 32])
def test_a_truncated_model_has_the_first_numbers_at_length_one_and_reloads_equal(truncate_dim, tiny, folders, tmp_path):
    embedder = TorchEmbedder.load(folders("bert"), truncate_dim=truncate_dim)
    wanted = tiny.encode(TEXTS)[:, :truncate_dim]
    _close(embedder.encode(TEXTS), wanted / np.linalg.norm(wanted, axis=1, keepdims=True))
    assert embedder.dimension == truncate_dim
    embedder.save(tmp_path / "saved")
    assert np.array_equal(TorchEmbedder.load(tmp_path / "saved").encode(TEXTS), embedder.encode(TEXTS))


def test_without_heads_vectors_have_the_length_that_they_have(own):
    lengths = np.linalg.norm(TorchEmbedder.load(own(heads=())).encode(TEXTS), axis=1)
    assert np.abs(lengths - 1).min() > 0.1


def test_heads_that_do_not_fit_the_pooling_are_refused(own, folders):
    embedder = TorchEmbedder.load(folders("bert"), truncate_dim=8)
    embedder.save(own().parent / "narrow")
    with pytest.raises(BadModel, match=r"cls\+mean pooling returns 64 dimensions, which the heads do not accept"):
        TorchEmbedder.load(own().parent / "narrow", pooling="cls+mean")


def test_a_token_that_the_encoder_has_no_vector_for_is_named_where_it_occurs(own):
    embedder = TorchEmbedder.load(own(changes={"vocab_size": 50}))
    assert np.isfinite(embedder.encode(["a b c"])).all()
    with pytest.raises(BadInput, match=r"texts\[2\] holds the token 'query', for which the encoder has no vector"):
        embedder.encode(["a", "b", "query", "c"])
    with pytest.raises(BadInput, match=r"texts\[2\] holds the token 'query'"):
        embedder.encode(["a", "a", "query", "b", "query"])  # the second of the distinct texts is the third of all


def test_special_tokens_without_vectors_are_of_another_model(own):
    with pytest.raises(BadModel, match="unknown words, but the encoder has vectors for only 3 ids"):
        TorchEmbedder.load(own(changes={"vocab_size": 3}))


@pytest.mark.parametrize("widths", [(8, 16), (16, 31)])
def test_a_fingerprint_sees_how_much_is_kept_of_a_vector(widths, folders):
    first, second = (TorchEmbedder.load(folders("bert"), truncate_dim=width).fingerprint for width in widths)
    assert first != second


@pytest.mark.parametrize(
    "wrong", [{"max_seq_length": 0}, {"max_seq_length": 9999}, {"truncate_dim": 1000}, {"pooling": ""}]
)
def test_what_a_model_cannot_do_is_not_quietly_made_less(wrong, folders):
    with pytest.raises((BadInput, BadModel), match="expected|unknown|reads 1 to"):
        TorchEmbedder.load(folders("bert"), **wrong)


def test_heads_run_once_for_a_call(own):
    embedder = TorchEmbedder.load(own())
    calls = []
    embedder.heads.register_forward_hook(lambda *_: calls.append(1))
    for texts, overflow in ((TEXTS, "warn"), ([LONG, "a"], "mean")):
        embedder.encode(texts, overflow=overflow, batch_tokens=8)
    assert len(calls) == 2


@pytest.mark.parametrize("engine", ["torch", "numpy"])
def test_a_model_of_unit_vectors_does_not_scale_them_again(engine, own):
    embedder = Embedder.load(own(), engine=engine)
    assert embedder.is_unit and np.array_equal(
        embedder.encode(TEXTS), embedder.encode(TEXTS, normalize_embeddings=True)
    )
    bare = Embedder.load(own(heads=()), engine=engine)
    assert not bare.is_unit and np.allclose(np.linalg.norm(bare.encode(TEXTS, normalize_embeddings=True), axis=1), 1)


@pytest.mark.usefixtures("unchecked")
def test_a_stream_checks_its_options_at_once(tiny):
    with pytest.raises(BadInput, match="overflow='perhaps' is not possible"):
        tiny.encode_stream(["a"], overflow="perhaps")


def test_a_stream_that_is_left_early_still_tells_what_was_cut(tiny, monkeypatch):
    monkeypatch.setattr(inputs, "CHUNK_TEXTS", 2)
    stream = tiny.encode_stream([LONG, "a", "b", "c"])
    next(stream)
    with pytest.warns(UserWarning, match="1 of 2 texts was truncated"):
        stream.close()


@pytest.mark.parametrize("call", ["m.encode(texts)", "list(m.encode_stream(texts))", "m.encode_layers(texts)"])
def test_a_warning_points_at_the_line_that_asked(call, folders):
    folder = str(folders("bert"))
    script = f"from likewise import Embedder\nm = Embedder.load({folder!r})\ntexts = ['a b ' * 99]\n{call}"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "<string>:4: UserWarning: 1 of 1 text was truncated" in ran.stderr


@pytest.mark.parametrize("text", ["query", "Query"])
def test_a_prompt_that_is_a_name_is_read_as_it_is_and_pointed_out(text, own, tiny):
    embedder = TorchEmbedder.load(own(spoken={"prompts": {"query": "query: "}}))
    with pytest.warns(UserWarning, match=r"for the model's own prompt of that name, pass prompt_name='query'"):
        vectors = embedder.encode(["a"], prompt=text)
    _close(vectors, tiny.encode([f"{text}a"]))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_model_keeps_its_precision_when_saved_and_is_the_same_again(precision, folders, tmp_path):
    embedder = TorchEmbedder.load(folders("bert"), precision=precision)
    embedder.save(tmp_path / "saved")
    again = TorchEmbedder.load(tmp_path / "saved", precision=precision)
    assert again.fingerprint == TorchEmbedder.load(tmp_path / "saved", precision="fp32").fingerprint
    assert (again.fingerprint == embedder.fingerprint) == (precision == "fp32")  # 16 bits round the weights written
    assert np.array_equal(again.encode(TEXTS), embedder.encode(TEXTS))


@pytest.mark.parametrize("options", [{"engine": "abacus"}, {"precision": "fp8"}])
@pytest.mark.usefixtures("unchecked")
def test_unknown_options_are_refused_with_the_list_of_them(options, folders):
    with pytest.raises(BadInput, match="there (is|are):? |there is: torch|expected one of"):
        TorchEmbedder.load(folders("bert"), **options)


# fingerprints

CHANGES = {
    "a weight": lambda f: reweigh(f, lambda n, t: t + 1e-3 if n == "encoder.layer.1.output.dense.bias" else t),
    "the activation": lambda f: amend(f / "config.json", hidden_act="relu"),
    "the number of heads": lambda f: amend(f / "config.json", num_attention_heads=8),
    "a norm's epsilon": lambda f: amend(f / "config.json", layer_norm_eps=0.1),
    "the pooling": lambda f: amend(f / "1_Pooling/config.json", pooling_mode_max_tokens=True),
    "the longest input": lambda f: amend(f / "sentence_bert_config.json", max_seq_length=9),
    "lower-casing": lambda f: amend(f / "sentence_bert_config.json", do_lower_case=True),
    "the prompts": lambda f: amend(f / "config_sentence_transformers.json", prompts={"query": "other"}),
    "the heads": lambda f: (f / "modules.json").write_text(
        json.dumps(json.loads((f / "modules.json").read_text())[:2])
    ),
    "a word": lambda f: (f / "tokenizer.json").write_text((f / "tokenizer.json").read_text().replace('"cat"', '"dot"')),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_fingerprint_changes_with_anything_that_changes_vectors(change, own):
    folder = own(max_seq_length=20, spoken={"prompts": {"query": "query: "}})
    before = TorchEmbedder.load(folder).fingerprint
    assert TorchEmbedder.load(folder).fingerprint == before
    CHANGES[change](folder)
    assert TorchEmbedder.load(folder).fingerprint != before


# prompts


@pytest.fixture
def prompted(own) -> Embedder:
    spoken = {"prompts": {"query": "query: ", "none": ""}, "default_prompt_name": "query"}
    return TorchEmbedder.load(own(spoken=spoken))


def test_a_prompt_is_put_before_every_text_by_name_by_text_or_by_default(prompted, tiny):
    wanted = tiny.encode([f"query: {text}" for text in TEXTS])
    for vectors in (
        prompted.encode(TEXTS),
        prompted.encode(TEXTS, prompt_name="query"),
        prompted.encode(TEXTS, prompt="query: "),
        tiny.encode(TEXTS, prompt="query: "),
    ):
        _close(vectors, wanted)
    _close(prompted.encode(TEXTS, prompt_name="none"), tiny.encode(TEXTS))
    _close(prompted.encode(TEXTS, prompt=""), tiny.encode(TEXTS))


VERBS = ("encode", "encode_stream", "encode_tokens", "encode_layers", "encode_report", "pieces")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("engine", ["torch", "numpy"])
def test_a_name_that_is_none_of_the_models_is_refused_with_those_that_are(verb, engine, own):
    if engine == "numpy" and verb in ("encode_tokens", "encode_layers"):
        return
    folder = own(spoken={"prompts": {"query": "query: ", "document": ""}})
    call = getattr(Embedder.load(folder, engine=engine), verb)
    for name in ("qurey", "Query", ""):
        with pytest.raises(BadInput, match=f"no prompt named '{name}'; its prompts are 'query', 'document'"):
            call(["a"], prompt_name=name)
    with pytest.raises(BadInput, match="were both passed"):
        call(["a"], prompt="query: ", prompt_name="query")
    assert call(["a"], prompt_name="query") is not None


def test_a_model_without_prompts_takes_a_text_and_no_name(tiny):
    _close(tiny.encode(["x"], prompt="query"), tiny.encode(["queryx"]))
    with pytest.raises(BadInput, match=r"no prompt named 'query'; its prompts are \(none\)"):
        tiny.encode(["x"], prompt_name="query")


def test_prompts_count_for_tokens_layers_and_reports_too(prompted):
    assert prompted.pieces(["cat"], prompt_name="none") == [["[CLS]", "cat", "[SEP]"]]
    assert prompted.encode_tokens(["cat"], prompt_name="none")[0].shape == (3, 32)
    assert prompted.encode_layers(["cat"], prompt_name="none")[0].shape == (4, 3, 32)
    assert prompted.encode_report(["cat"], prompt_name="none").tokens.tolist() == [1]
    assert prompted.pieces(["cat"]) == [["[CLS]", "query", ":", "cat", "[SEP]"]]
    assert prompted.encode_tokens(["cat"])[0].shape == (5, 32)
    assert prompted.encode_report(["cat"]).tokens.tolist() == [3]


@pytest.mark.parametrize("overflow", POLICIES)
def test_a_prompt_that_leaves_no_room_for_text_is_refused(overflow, own):
    embedder = Embedder.load(own(max_seq_length=12, spoken={"prompts": {"query": "the cat: "}}))
    calls = [embedder.encode, lambda *given, **how: [*embedder.encode_stream(*given, **how)]]
    calls += [] if overflow == "mean" else [embedder.encode_tokens, embedder.encode_layers]
    for call in calls:
        call(["a", ""], prompt="cat " * 9, overflow=overflow)
        for words, texts in ((10, ["a", "dog"]), (10, [""]), (99, ["", "dog"])):
            wanted = f"the prompt has {words} tokens, and the model reads 10: no room is left for text"
            with pytest.raises(BadInput, match=wanted):
                call(texts, prompt="cat " * words, overflow=overflow)
    embedder.max_seq_length = 5
    with pytest.raises(BadInput, match="the prompt has 3 tokens, and the model reads 3: no room is left"):
        embedder.encode_query(["a"], overflow=overflow)


def test_prompts_are_saved(prompted, tmp_path):
    prompted.save(tmp_path / "saved")
    again = TorchEmbedder.load(tmp_path / "saved")
    assert again.manifest.prompts == prompted.manifest.prompts
    assert np.array_equal(again.encode(TEXTS), prompted.encode(TEXTS))


@pytest.mark.parametrize("spec", REDUCTIONS)
def test_a_pooling_may_be_told_to_pass_over_the_prompt(spec, own, tmp_path):
    flag = {"pooling_mode": spec.replace("-", "_"), "include_prompt": False}
    from likewise.arrays.reductions import NEWER_NAMES

    flag["pooling_mode"] = next((newer for newer, ours in NEWER_NAMES.items() if ours == spec), spec)
    embedder = TorchEmbedder.load(own(pooling=flag, heads=()))
    texts = ["a cat", "dogs and the cat sleep", ""]
    found = embedder.encode(texts, prompt="query: ")
    for row, layer in zip(found, embedder.encode_tokens(texts, prompt="query: "), strict=True):
        tokens = likewise.Ragged(torch.from_numpy(layer[3:].copy()), (len(layer) - 3,))
        tokens.__dict__["position"] = torch.arange(3, len(layer))  # its place in the whole text
        _close(row, embedder.pooling(iter([tokens.values]), tokens)[0].numpy())
    _close(
        embedder.encode(texts),
        TorchEmbedder.load(own(pooling={**flag, "include_prompt": True}, heads=())).encode(texts),
    )
    embedder.save(tmp_path / "saved")
    assert np.array_equal(TorchEmbedder.load(tmp_path / "saved").encode(texts, prompt="query: "), found)


def test_a_model_that_spells_words_by_n_grams_cannot_pass_over_the_prompt(own):
    folder = own("words", changes={"ngram_buckets": 5})
    write(folder / "unknown_words.json", {"id": 1, "least": 3, "most": 6, "buckets": 5, "first": 200})
    assert TorchEmbedder.load(folder).encode(["unheard"], prompt="query: ").shape == (1, 32)
    amend(folder / "1_Pooling/config.json", include_prompt=False)
    with pytest.raises(BadModel, match="splits words into character n-grams cannot exclude the prompt"):
        TorchEmbedder.load(folder)


@pytest.mark.usefixtures("unchecked")
def test_a_prompt_that_is_no_text_is_refused(tiny):
    with pytest.raises(BadInput, match=r"prompt is 3; expected a text"):
        tiny.encode(TEXTS, prompt=3)
    with pytest.raises(BadInput, match="no prompt named 3"):
        tiny.encode(TEXTS, prompt_name=3)


def test_lower_casing_is_the_models_own(own):
    settings = {"max_seq_length": 40, "do_lower_case": True}
    lowered = TorchEmbedder.load(own(lowercase=False, settings=settings))
    cased = TorchEmbedder.load(own(lowercase=False))
    assert np.array_equal(*lowered.encode(["THE CAT", "the cat"]))
    assert not np.allclose(*cased.encode(["THE CAT", "the cat"]))


# tokens, layers and windows


def test_tokens_and_layers_show_no_progress_unless_asked(tiny, capsys, monkeypatch):
    monkeypatch.setattr(progress, "SHOW_AFTER", -1)
    monkeypatch.setattr(progress, "LINE_INTERVAL", -1)
    tiny.encode_tokens(TEXTS)
    tiny.encode_layers(TEXTS)
    assert capsys.readouterr().err == ""
    tiny.encode_tokens(TEXTS, show_progress_bar=True)
    assert str(len(TEXTS)) in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["torch", "numpy"])
def test_ids_are_computed_in_one_batch_and_give_every_layer_unless_told_otherwise(engine, folders, monkeypatch):
    embedder, sizes = Embedder.load(folders("bert"), engine=engine), []
    compute = type(embedder)._layers
    monkeypatch.setattr(
        type(embedder), "_layers", lambda self, ids, *how: sizes.append(how[-1].max_tokens) or compute(self, ids, *how)
    )
    ids = [embedder.tokenizer.with_special_tokens(one) for one in embedder.tokenizer.token_ids(TEXTS)]
    layers = embedder.layers_of(ids)
    assert sizes == [sum(map(len, ids))] and [x.shape for x in layers] == [(4, len(one), 32) for one in ids]
    for every, last, tokens in zip(
        layers, embedder.layers_of(ids, only_last=True), embedder.encode_tokens(TEXTS), strict=True
    ):
        _close(every[-1:], last)
        _close(last[0], tokens, atol=1e-5)
    assert embedder.layers_of([]) == []


@pytest.mark.parametrize("engine", ["torch", "numpy"])
def test_windows_are_the_beginnings_of_texts_unless_told_to_overlap_and_one_batch(engine, folders, monkeypatch):
    embedder, sizes = Embedder.load(folders("bert"), engine=engine), []
    compute = type(embedder)._pooled
    monkeypatch.setattr(
        type(embedder), "_pooled", lambda self, ids, how: sizes.append(how.max_tokens) or compute(self, ids, how)
    )
    for texts in ([*TEXTS, LONG], []):
        _, windows = embedder.windows(texts)
        assert len(windows.places) == len(texts)
        _close(embedder.encode_windows(windows), embedder.encode(texts, overflow="truncate"), atol=1e-5)
        assert sizes[0] == max(1, len(windows.tokens.ids))
        sizes.clear()
    _, windows = embedder.windows([LONG], overlapping=True)
    assert len(windows.places) > 1
    _close(embedder.encode_windows(windows), embedder.encode([LONG], overflow="mean"), atol=1e-5)


def test_windows_whose_vector_is_not_finite_name_their_text(own):
    embedder = TorchEmbedder.load(own())
    with torch.no_grad():
        embedder.encoder.embeddings.words.weight[embedder.tokenizer.token_ids(["q"])[0][0]] = torch.inf
    with pytest.raises(BadModel, match=r"texts\[2\] gave a vector that is not finite in fp32"):
        embedder.encode_windows(embedder.windows(["a", "b", "q"])[1])


def test_threads_share_a_matrix_product_where_an_engine_does_not_share_a_batch(tiny):
    assert tiny.batch_threads == 1


@pytest.mark.parametrize("arguments", [("my-model",), (Path("my-model"),), (), (3,)])
def test_a_model_is_loaded_and_not_constructed(arguments, tiny):
    name = "my-model" if arguments not in ((), (3,)) else "likewise-mini"
    with pytest.raises(BadInput, match=rf"Embedder\.load\('{name}'\)"):
        Embedder(*arguments)
    with pytest.raises(BadInput, match=r"call embedder\.encode"):
        Embedder.__call__(tiny, ["a"])


# texts that are too long


@pytest.mark.parametrize("overflow", POLICIES)
def test_under_every_policy_texts_that_fit_are_the_same(overflow, tiny):
    _close(tiny.encode(TEXTS, overflow=overflow), tiny.encode(TEXTS))


def test_error_names_the_index_of_the_first_text_that_is_too_long(tiny):
    with pytest.raises(TooLong, match=r"texts\[9\] has [0-9,]+ tokens, and the model reads 64"):
        tiny.encode([*TEXTS, LONG, TEXTS[0], LONG * 2], overflow="error")


def test_warn_says_what_was_cut_and_truncate_is_silent(tiny):
    with pytest.warns(UserWarning, match="2 of 11 texts were truncated to the 64 tokens"):
        loud = tiny.encode([*TEXTS, LONG, LONG])
    assert np.array_equal(tiny.encode([*TEXTS, LONG, LONG], overflow="truncate"), loud)


def test_the_tail_of_a_long_text_counts_under_mean_and_not_under_truncate(tiny):
    pair = [LONG + "cat", LONG + "quick"]
    cut, whole = tiny.encode(pair, overflow="truncate"), tiny.encode(pair, overflow="mean")
    assert np.array_equal(cut[0], cut[1])
    assert np.abs(whole[0] - whole[1]).max() > 1e-4


@pytest.mark.parametrize("prompt", [None, "query: "])
def test_mean_is_the_mean_of_the_windows_vectors_by_their_tokens(prompt, own):
    embedder = TorchEmbedder.load(own(heads=()))
    prompt_ids = embedder.tokenizer.token_ids([prompt])[0] if prompt else []
    content = embedder.tokenizer.token_ids([(prompt or "") + LONG])[0]
    windows = embedder.tokenizer.windows(content, prompt_ids)
    assert len(windows) > 2
    with torch.inference_mode():
        parts = [embedder(likewise.Ragged.of([embedder.tokenizer.with_special_tokens(w)]))[0].numpy() for w in windows]
    found = embedder.encode([LONG, "cat"], prompt=prompt, overflow="mean")
    _close(found[0], np.average(parts, axis=0, weights=[len(w) + 2 for w in windows]))
    _close(found[1:], embedder.encode(["cat"], prompt=prompt))


def test_a_report_says_what_would_be_read(tiny):
    report = tiny.encode_report([*TEXTS, LONG])
    assert report.tokens.tolist() == [len(c) for c in tiny.tokenizer.token_ids([*TEXTS, LONG])]
    assert report.used.max() == tiny.tokenizer.max_content_length == 64
    assert report.cut.tolist() == [len(TEXTS)]


def test_a_report_counts_from_the_first_text_of_all_that_are_read_at_a_time(tiny, monkeypatch):
    texts = ["a", LONG, LONG_WORD, "b", "c", LONG_WORD, LONG]
    whole = tiny.encode_report(texts)
    monkeypatch.setattr(inputs, "CHUNK_TEXTS", 2)
    parts = tiny.encode_report(iter(texts))
    assert parts.unread == whole.unread == {2: 20_000, 5: 20_000}
    assert parts.tokens.tolist() == whole.tokens.tolist() and parts.used.tolist() == whole.used.tolist()


def test_layers_and_tokens_follow_the_policies_too(tiny):
    with pytest.raises(BadInput, match="averages windows into one vector"):
        tiny.encode_layers([LONG], overflow="mean")
    with pytest.raises(TooLong, match=r"texts\[0\]"):
        tiny.encode_tokens([LONG], overflow="error")
    with pytest.warns(UserWarning, match="1 of 1 text was truncated"):
        assert tiny.encode_tokens([LONG])[0].shape == (66, 32)
    assert tiny.encode_layers([LONG], overflow="truncate")[0].shape == (4, 66, 32)


# odd input

ODD = {
    "empty": "",
    "blank": " \t\n\u3000",
    "nul": "a\0b",
    "high surrogate": "a\ud800",
    "low surrogate": "\udfff",
    "pair of surrogates": "\ud83d\ude00",
    "right to left": "שלום עולם مرحبا",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈",
    "combining": "e" + "\u0301" * 200,
    "hundred thousand words": "the " * 100_000,
    "one long word": "a" * 50_000,
    "special tokens": "[CLS] [SEP] [PAD] [MASK] [UNK]",
    "controls": "".join(map(chr, range(32))),
    "noncharacters": "\ufffe\uffff\U0010ffff\ufeff",
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("overflow", ["truncate", "mean"])
@pytest.mark.filterwarnings("ignore:.*ha(s|ve) words of more than 100 characters")
def test_any_text_has_a_finite_unit_vector_that_its_neighbours_do_not_change(kind, overflow, tiny):
    vectors = tiny.encode(["a cat", ODD[kind], "a cat"], overflow=overflow)
    _close(np.linalg.norm(vectors, axis=1), 1)
    _close(vectors[1], tiny.encode([ODD[kind]], overflow=overflow)[0])
    _close(vectors[[0, 2]], tiny.encode(["a cat", "a cat"]))


LONG_WORD = "a" * 20_000


@pytest.mark.parametrize("engine", ["torch", "numpy"])
def test_words_too_long_for_the_tokenizer_are_counted_as_lost(engine, folders):
    embedder = Embedder.load(folders("bert"), engine=engine)
    texts = ["a cat", LONG_WORD, f"the {'b' * 101} dog {'c' * 300}", "d" * 100, f"e{'f' * 99},{'g' * 100}"]
    report = embedder.encode_report(texts)
    assert report.lost.tolist() == [0, 1, 2, report.lost[3], report.lost[4]]
    assert report.unread == {1: 20_000, 2: 401}
    assert report.cut.tolist()[:2] == [1, 2]
    with pytest.raises(TooLong, match=r"texts\[1\] has a word of 20,000 characters, .* accepts words of up to 100"):
        embedder.encode(texts, overflow="error")
    for overflow in ("warn", "mean"):
        with pytest.warns(UserWarning) as caught:
            embedder.encode([*texts[:3], texts[1], *texts[:3]], overflow=overflow)
        assert "5 of 7 texts have words of more than 100 characters" in str(caught[0].message)
        assert "first is texts[1], the longest word has 20,000 characters" in str(caught[0].message)
        assert len(caught) == 1
    embedder.encode(texts, overflow="truncate")


def test_tokens_and_layers_tell_of_words_that_are_too_long_too(tiny):
    for verb in (tiny.encode_tokens, tiny.encode_layers):
        with pytest.warns(UserWarning, match="1 of 2 texts has words of more than 100"):
            verb(["a", "b" * 101])
        with pytest.raises(TooLong, match=r"texts\[1\] has a word of 101 characters"):
            verb(["a", "b" * 101], overflow="error")


def test_a_prompt_may_make_a_word_too_long(tiny):
    assert tiny.encode_report(["a" * 60]).unread == {}
    assert tiny.encode_report(["a" * 60], prompt="b" * 60).unread == {0: 120}


def test_a_long_word_beyond_what_is_read_is_lost_once(tiny):
    report = tiny.encode_report(["a " * 100 + "b" * 200])
    assert report.lost.tolist() == [101 - 64]
    assert report.unread == {0: 200}


@given(st.lists(st.text(), max_size=5))
def test_any_list_of_strs_has_finite_unit_vectors(tiny, texts):
    vectors = tiny.encode(texts, overflow="mean")
    assert vectors.shape == (len(texts), 32)
    _close(np.linalg.norm(vectors, axis=1), 1)


@pytest.mark.parametrize(
    "nothing", [[], (), iter([]), np.array([], dtype=str), pd.Series([], dtype=str)], ids=lambda v: type(v).__name__
)
def test_no_texts_give_no_rows_of_the_right_width(nothing, tiny):
    vectors = tiny.encode(nothing)
    assert vectors.shape == (0, 32)
    assert vectors.dtype == np.float32
    assert tiny.encode_layers([]) == tiny.encode_tokens([]) == tiny.pieces([]) == []
    assert tiny.encode_report([]).tokens.shape == (0,)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        3,
        b"x",
        "bare",
        {"a": "b"},
        UserDict(a="b"),
        {"a"},
        np.array("a"),
        np.array([["a"]]),
        pd.DataFrame({"a": ["b"]}),
        ["a", None],
        ["a", b"b"],
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("verb", ["encode", "encode_tokens", "encode_layers", "encode_report"])
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_list_of_texts_is_refused(verb, wrong, tiny):
    with pytest.raises(BadInput, match=r"expected a list, a column|texts\[1\]"):
        getattr(tiny, verb)(wrong)


@pytest.mark.parametrize("told", [1, 5])
@pytest.mark.usefixtures("unchecked")
def test_a_collection_that_is_wrong_about_its_length_is_an_error_or_shorter(told, tiny):
    class Odd(list):
        def __len__(self) -> int:
            return told

    if told == 5:
        assert tiny.encode(Odd(["a", "b"])).shape == (2, 32)
        return
    with pytest.raises(BadInput, match="is 1, but iterating over texts gave 2 or more"):
        tiny.encode(Odd(["a", "b"]))


def test_the_keys_of_a_dict_are_texts_in_an_order(tiny):
    assert np.array_equal(tiny.encode({"b": 1, "a": 2}.keys()), tiny.encode(["b", "a"]))


@pytest.mark.parametrize("device", ["cuda", "cuda:9", "mps", "meta", "xpu", "abacus", 3.5])
@pytest.mark.usefixtures("unchecked")
def test_a_device_that_is_not_here_is_refused_before_the_model_is_read(device, tmp_path, monkeypatch):
    monkeypatch.setattr("likewise.embedder.read_manifest", lambda _: pytest.fail("the model was read"))
    if (device == "cuda" and torch.cuda.is_available()) or (device == "mps" and torch.backends.mps.is_available()):
        return
    with pytest.raises(BadInput, match=r"unknown device|cannot be used on this machine"):
        TorchEmbedder.load(tmp_path, device=device)


@pytest.mark.parametrize("engine", ["torch", "numpy"])
@pytest.mark.parametrize("pooling", [5, ["mean"], True])
@pytest.mark.usefixtures("unchecked")
def test_a_pooling_that_is_no_name_is_refused(engine, pooling, folders):
    with pytest.raises(BadInput, match="expected the name of a pooling mode, such as cls"):
        Embedder.load(folders("bert"), engine=engine, pooling=pooling)


def test_every_kind_of_column_gives_the_vectors_of_the_list(tiny):
    wanted = tiny.encode(TEXTS)
    columns = [
        np.array(TEXTS),
        pd.Series(TEXTS, index=range(9, 0, -1)),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS[:4], TEXTS[4:]]),
    ]
    for column in [*columns, tuple(TEXTS), (text for text in TEXTS)]:
        assert np.array_equal(tiny.encode(column), wanted)


@pytest.mark.parametrize("overflow", ["cut", None, 3, ["warn"]])
@pytest.mark.usefixtures("unchecked")
def test_an_unknown_policy_is_refused(overflow, tiny):
    for verb in (tiny.encode, tiny.encode_layers):
        with pytest.raises(BadInput, match="expected one of error, warn, truncate, mean"):
            verb(TEXTS, overflow=overflow)


@pytest.mark.parametrize("budget", [0, -1, 1.5, "many", True])
@pytest.mark.usefixtures("unchecked")
def test_a_budget_that_is_no_number_of_tokens_is_refused(budget, tiny):
    with pytest.raises(BadInput, match="expected a whole number above 0"):
        tiny.encode(TEXTS, batch_tokens=budget)


def test_a_tokenizer_without_special_tokens_has_no_vector_for_an_empty_text(own):
    folder = own(pooling={"pooling_mode_cls_token": True})
    amend(folder / "tokenizer.json", post_processor=None)
    embedder = TorchEmbedder.load(folder)
    assert embedder.encode(["a", "b c"]).shape == (2, 32)
    for texts, index in ((["a", ""], 1), (["a", "", "b"], 1), (["a", "a", "", "b", ""], 2)):
        with pytest.raises(BadInput, match=rf"texts\[{index}\] has no tokens"):
            embedder.encode(texts)


def test_a_vector_that_is_not_finite_names_its_text(own):
    embedder = TorchEmbedder.load(own())
    with torch.no_grad():
        embedder.encoder.embeddings.words.weight[embedder.tokenizer.token_ids(["q"])[0][0]] = torch.inf
    with pytest.raises(BadModel, match=r"texts\[2\] gave a vector that is not finite in fp32"):
        embedder.encode(["a", "b", "q", "q"])


# memory, iterators, threads


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("out of memory"),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
        RuntimeError("could not create a primitive"),
        RuntimeError("could not create a memory object"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ],
    ids=lambda error: f"{type(error).__name__}: {error}"[:40],
)
def test_when_memory_runs_out_smaller_batches_give_the_same_vectors(error, own, tiny):
    embedder, sizes = TorchEmbedder.load(own()), []

    def costly(module, args):
        sizes.append(len(args[0].values))
        if sizes[-1] > 20:
            raise error

    embedder.encoder.register_forward_pre_hook(costly)
    short = [f"the cat and the dog {i}" for i in range(20)]
    _close(embedder.encode(short), tiny.encode(short))
    assert max(sizes) > 20
    for verb in ("encode_tokens", "encode_layers"):
        sizes.clear()
        for found, wanted in zip(getattr(embedder, verb)(short), getattr(tiny, verb)(short), strict=True):
            _close(found, wanted)
        assert max(sizes) > 20
    for verb in (embedder.encode, embedder.encode_tokens, embedder.encode_layers):
        with pytest.raises(OutOfMemory, match="a single text of 66 tokens"):
            verb(["a", LONG], overflow="truncate")


@pytest.mark.parametrize(
    "message",
    ["shapes do not match", "could not create a primitive descriptor for a matmul primitive", "CUDA error: misaligned"],
)
def test_other_errors_are_not_taken_for_a_lack_of_memory(message, own):
    embedder, calls = TorchEmbedder.load(own()), []

    def broken(module, args):
        calls.append(1)
        raise RuntimeError(message)

    embedder.encoder.register_forward_pre_hook(broken)
    for verb in (embedder.encode, embedder.encode_tokens, embedder.encode_layers):
        calls.clear()
        with pytest.raises(RuntimeError, match=message):
            verb(["a", "b"])
        assert len(calls) == 1


def test_of_the_last_layer_alone_one_is_copied_from_the_device(own, monkeypatch):
    embedder, copies = TorchEmbedder.load(own()), []
    copy = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda x, *a: (copies.append(x.shape), copy(x, *a))[1])
    tokens = embedder.encode_tokens(["a cat", "a dog"])
    assert len(copies) == 1
    copies.clear()
    layers = embedder.encode_layers(["a cat", "a dog"])
    assert len(copies) == 4
    for a, b in zip(tokens, layers, strict=True):
        assert np.array_equal(a, b[-1])


def test_an_iterator_is_read_a_window_ahead_and_no_further(tiny, monkeypatch):
    monkeypatch.setattr(inputs, "CHUNK_TEXTS", 10)
    read = 0

    def endless():
        nonlocal read
        for text in cycle(TEXTS):
            read += 1
            yield text

    blocks = tiny.encode_stream(endless())
    for i, block in enumerate(islice(blocks, 5), 1):
        assert len(block) == 10
        assert read == 10 * i
    texts = list(islice(cycle(TEXTS), 37))
    _close(tiny.encode(iter(texts)), tiny.encode(texts))
    assert sum(len(block) for block in tiny.encode_stream(texts)) == 37


def test_indices_in_errors_count_from_the_first_text_of_all_windows(tiny, monkeypatch):
    monkeypatch.setattr(inputs, "CHUNK_TEXTS", 4)
    with pytest.raises(TooLong, match=r"texts\[9\]"):
        tiny.encode([*TEXTS, LONG], overflow="error")
    with pytest.warns(UserWarning, match=r"1 of 10 texts .*the first is texts\[9\]"):
        tiny.encode([*TEXTS, LONG])


def test_eight_threads_get_what_one_gets(own):
    embedder = TorchEmbedder.load(own())
    jobs = [[f"{i} {text}" for text in TEXTS] for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(embedder.encode, jobs))
    for vectors, texts in zip(found, jobs, strict=True):
        assert np.array_equal(vectors, embedder.encode(texts))


def test_encoding_leaves_gradients_switched_on_and_training_untouched(tiny):
    tiny.encode(TEXTS)
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("part", ["", "encoder"])
@pytest.mark.parametrize("verb", ["encode", "encode_tokens", "encode_chunks"])
def test_a_model_in_training_mode_encodes_without_dropout(part, verb, own):
    folder = own()
    amend(folder / "config.json", hidden_dropout_prob=0.5)
    embedder = TorchEmbedder.load(folder)
    before = getattr(embedder, verb)(TEXTS[:3])
    embedder.get_submodule(part).train()
    assert any(module.p and module.training for module in embedder.modules() if hasattr(module, "p"))
    for one, other in zip(before, getattr(embedder, verb)(TEXTS[:3]), strict=True):
        assert np.array_equal(getattr(one, "vectors", one), getattr(other, "vectors", other))
    assert not any(module.training for module in embedder.modules())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_a_model_with_a_matrix_after_its_pooling_encodes_in_every_type_it_is_moved_to(dtype, own):
    below = TorchEmbedder.load(own())
    torch.manual_seed(0)
    embedder = TorchEmbedder(below.tokenizer, below.encoder, below.pooling, nn.Sequential(Dense(32, 8)), below.manifest)
    before = embedder.eval().encode(TEXTS)
    moved = embedder.to(dtype)
    _close(moved.encode(TEXTS), before, atol=0.05)
    assert moved.dimension == 8
    assert moved(Ragged.of([[1, 2, 3]])).dtype == dtype


def test_a_changed_weight_changes_the_vectors(own):
    embedder = TorchEmbedder.load(own())
    before = embedder.encode(TEXTS)
    with torch.no_grad():
        embedder.encoder.blocks[1].up.weight.mul_(-1)
    assert np.abs(embedder.encode(TEXTS) - before).max() > 1e-4


# the package


def test_importing_costs_neither_torch_nor_numpy():
    code = "import likewise, sys; assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    path = os.pathsep.join(p for p in sys.path if p)
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})


def test_every_public_name_is_there():
    for name in likewise.__all__:
        assert getattr(likewise, name) is not None
        assert name in dir(likewise)
    with pytest.raises(AttributeError, match="likewise has no 'nothing'; available names: Embedder"):
        likewise.nothing  # noqa: B018


def test_every_error_of_ours_has_one_root():
    from likewise import errors
    from likewise.runtime.installation import missing_extra

    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert all(issubclass(kind, LikewiseError) for kind in kinds)
    assert isinstance(missing_extra("p", "torch", "this"), ImportError)


@pytest.mark.parametrize("device", ["gpu", "", "cuda:x"])
def test_a_device_that_torch_does_not_know_is_told(own, device):
    with pytest.raises(BadInput, match="unknown device"):
        TorchEmbedder.load(own(), device=device)


def test_what_needs_torch_names_the_engine_that_was_loaded(tiny, folders):
    assert require_torch_engine(tiny, "training") is tiny
    with pytest.raises(BadInput, match="training needs a model loaded with engine='torch', but this is a NumpyEmb"):
        require_torch_engine(Embedder.load(folders("bert"), engine="numpy"), "training")
