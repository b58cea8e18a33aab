"""The plain Python tokenizer gives the ids of Hugging Face's library, and so of the compiled one, for its pipelines."""

import base64
import json
import os
import pickle
import random
import unicodedata
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import BadModel
from likewise.native.tokenizing import EncodedTexts, NativeTokenizer
from likewise.text import tokenizer as tokenizer_module
from likewise.text.library_tokenizer import LibraryTokenizer
from likewise.text.reference_tokenizer import ReferenceTokenizer, normalize, normalizer_of
from likewise.text.tokenizer import Tokenizer
from tests.native.test_tokenizing import CORPUS, PIECES, PIPELINES, check_equal

XLM_R = Path(os.environ.get("LIKEWISE_DATA", "")).parent / "tokenizers/xlm-r/tokenizer.json"
OLD = [chr(code) for code in range(0x10000) if unicodedata.ucd_3_2_0.category(chr(code))[0] != "C"]
KNOWN = {chr(code) for code in range(0x30000) if unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Cs")}
LETTERS = "aZ09 .,'-_\n\té中ßΣς한ก가猫кÀ½²①١٣अ्🐈\u00a0\u2028$+"
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(LETTERS, max_size=6)), max_size=10).map("".join)


@pytest.fixture(scope="module", params=PIPELINES)
def pair(request):
    library = PIPELINES[request.param]()
    return library, ReferenceTokenizer(library.to_str())


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_ids_spans_and_words_are_those_of_the_library(pair, text):
    library, ours = pair
    check_equal(library, ours, text)


@pytest.mark.parametrize("name", ["bert", "deberta", "whitespace", "word-vectors"])
def test_letters_of_all_blocks_are_those_of_the_library(name):
    library = PIPELINES[name]()
    chinese = {*range(0x3400, 0xA000), *range(0x20000, 0x2CEB1), *range(0x2F800, 0x2FA21)}  # whether assigned or not
    codes = (*range(0x300), *range(0x2000, 0x2600))
    codes += (*range(0x300, 0x30000, 16), *range(0x30F, 0x30000, 16)) if name == "bert" else ()
    letters = [chr(code) for code in codes if chr(code) in KNOWN or code in chinese]
    texts = [" ".join(f"a{letter}b" for letter in letters[i : i + 16]) for i in range(0, len(letters), 16)]
    wanted = library.encode_batch_fast(texts, add_special_tokens=False)
    assert ReferenceTokenizer(library.to_str()).encode(texts).lists() == [encoded.ids for encoded in wanted]


def test_graphemes_are_those_of_the_library():
    library = PIPELINES["precompiled"]()  # the letter a, and what it is one grapheme with, becomes b
    ours = normalizer_of(json.loads(library.to_str())["normalizer"])
    blocks = (range(0x5F0, 0x1100), range(0x1A00, 0x1B00), range(0x2000, 0x2100), range(0xA800, 0xAC00))
    higher = (range(0xFF00, 0x10000), range(0x11000, 0x11E00), range(0x1F3F0, 0x1F410), range(0xE0000, 0xE0100))
    codes = [code for block in (range(0x80), *blocks, *higher) for code in block]
    letters = [chr(code) for code in codes if unicodedata.category(chr(code)) != "Cn"]
    text = "\n".join(f"a{letter}\n{letter}a\u0301" for letter in letters)
    assert normalize(text, ours) == library.normalizer.normalize_str(text)


@pytest.mark.skipif(not XLM_R.is_file(), reason="XLM-R's tokenizer is not beside the data sets")
def test_the_rules_of_a_published_sentencepiece_model_are_those_of_the_library():
    library = PIPELINES["precompiled"]()
    library.normalizer = tokenizers.Tokenizer.from_file(str(XLM_R)).normalizer[0]
    ours, draw = ReferenceTokenizer(library.to_str()), random.Random(0)
    for _ in range(2_000):
        text = "".join(draw.choice(PIECES) if draw.random() < 0.5 else draw.choice(OLD) for _ in range(8))
        check_equal(library, ours, text)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        *(
            (base64.b64encode(rules).decode(), "is cut off")
            for rules in (b"", b"\4\0\0\0", b"\4\0\0\0xxx", b"\1\0\0\0x", b"\0\0\1\0" + b"x" * 9)
        ),
        ("é", "is no(t valid)? Base64"),
        ("A B=", "is no(t valid)? Base64"),
        (5, "precompiled_charsmap is .*; expected a text"),
        (None, "precompiled_charsmap is .*; expected a text"),
    ],
)
def test_rules_that_cannot_be_read_are_refused(rules, message):
    described = json.loads(PIPELINES["precompiled"]().to_str())
    described["normalizer"]["precompiled_charsmap"] = rules
    for tokenizer in (ReferenceTokenizer, NativeTokenizer):
        with pytest.raises(BadModel, match=message):
            tokenizer(json.dumps(described))


def test_a_rule_whose_text_is_not_utf_8_is_refused():
    described = json.loads(PIPELINES["precompiled"]().to_str())
    rules = base64.b64decode(described["normalizer"]["precompiled_charsmap"])
    texts = 4 + int.from_bytes(rules[:4], "little")
    spoiled = rules[:texts] + bytes(byte and 0xFF for byte in rules[texts:])
    described["normalizer"]["precompiled_charsmap"] = base64.b64encode(spoiled).decode()
    with pytest.raises(BadModel, match="not UTF-8"):
        ReferenceTokenizer(json.dumps(described)).encode(PIECES)


SPLIT_AT_X = {"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize(
    ("pipeline", "part", "settings", "message"),
    [
        ("bert", "normalizer", {"type": "Rot13"}, "the normalizer 'Rot13' is not supported in plain Python"),
        ("bert", "normalizer", {"type": "Replace", "pattern": {"Regex": "x"}}, "a Replace normalizer of .'Regex': 'x'"),
        ("bert", "normalizer", {"type": "Replace", "pattern": {"String": ""}}, "a Replace normalizer of .'String': ''"),
        ("bert", "pre_tokenizer", SPLIT_AT_X, "a Split pre-tokenizer of .'Regex': 'x'"),
        ("qwen", "model", {"byte_fallback": True}, "BPE with byte_fallback"),
        ("qwen", "model", {"end_of_word_suffix": "</w>"}, "an affix"),
        ("qwen", "model", {"unk_token": "<s>"}, "an unknown token"),
        ("deberta", "model", {"byte_fallback": True}, "a Unigram model with byte_fallback"),
        ("deberta", "model", {"unk_id": None}, "without an unknown token"),
    ],
)
def test_what_it_lacks_is_refused_by_name(pipeline, part, settings, message):
    described = json.loads(PIPELINES[pipeline]().to_str())
    described[part] = {**(described[part] if part == "model" else {}), **settings}
    with pytest.raises(BadModel, match=message):
        ReferenceTokenizer(json.dumps(described))


@pytest.mark.parametrize("ignored", [False, True])
def test_a_known_word_is_one_token_where_merges_are_ignored(ignored):
    words = {"c": 0, "a": 1, "t": 2, "ca": 3, "cat": 4}
    library = tokenizers.Tokenizer(tokenizers.models.BPE(words, [("c", "a")], ignore_merges=ignored))
    check_equal(library, ReferenceTokenizer(library.to_str()), "cat")
    assert library.encode("cat").ids == ([4] if ignored else [3, 2])


def test_words_that_are_too_long_are_told_by_their_place(pair):
    library, ours = pair
    found = ours.encode(["a " + "b" * 30, "x", "c" * 21])
    assert isinstance(found, EncodedTexts)
    if "max_input_chars_per_word" in library.to_str():
        assert [(i, length) for i, _, length in found.long_words.tolist()] == [(0, 30), (2, 21)]
    else:
        assert not len(found.long_words)


def test_the_library_itself_gives_the_same_behind_our_interface(pair):
    library, ours = pair
    wrapped = LibraryTokenizer(library.to_str(), "why")
    texts = [*CORPUS, "", " ", "a " + "b" * 20, "x " + "b" * 21 + " [MASK] " + "é" * 25, "한" * 7, "한" * 6, "ﷺ" * 2]
    for text in texts:
        check_equal(library, wrapped, text)
    again = pickle.loads(pickle.dumps(wrapped))
    for one in (wrapped, again):
        assert one.encode(texts).lists() == ours.encode(texts).lists()
        assert one.encode(texts).long_words.tolist() == ours.encode(texts).long_words.tolist()
    with pytest.raises(UnicodeEncodeError):
        wrapped.encode(["\ud800"])


def test_without_the_compiled_library_plain_python_takes_over(tmp_path, monkeypatch):
    library = PIPELINES["bert"]()
    library.save(str(tmp_path / "tokenizer.json"))
    native = Tokenizer.load(tmp_path, 64)
    monkeypatch.setenv("LIKEWISE_NATIVE_LIBRARY", str(tmp_path / "none.so"))
    tokenizer_module._engine.cache_clear()
    monkeypatch.setattr("likewise.native.tokenizing.load_library", unavailable)
    plain = Tokenizer.load(tmp_path, 64)
    tokenizer_module._engine.cache_clear()
    assert isinstance(plain.engine, ReferenceTokenizer)
    assert plain.token_ids(CORPUS) == [e.ids for e in library.encode_batch(list(CORPUS), add_special_tokens=False)]
    assert plain.token_ids(CORPUS) == native.token_ids(CORPUS)


def unavailable():
    from likewise.errors import NativeUnavailable

    raise NativeUnavailable("there is none")
