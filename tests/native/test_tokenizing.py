"""Tokenizers of the compiled library: the same ids and spans as Hugging Face gives, for every supported pipeline."""

import json
import random
import struct
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, models, trainers
from tokenizers import normalizers as n
from tokenizers import pre_tokenizers as p
from tokenizers import processors as post

from likewise.errors import BadModel
from likewise.native.tokenizing import NativeTokenizer

BUNDLED = Path(__file__).parents[2] / "src/likewise/bundled"
CORPUS = (
    "A cat sleeps on the warm mat. Übergrößenträger naïve café, déjà vu! It's 1,024 kB; they'll re-run it, isn't it?",
    "Кошка спит на коврике. 猫はマットの上で寝る。 고양이가 잔다 Η γάτα κοιμάται ẞ ﬁne ½ x² İstanbul",
    "القطة تنام على السجادة. बिल्ली चटाई पर सोती है। ไมว่ 🐈‍⬛ 👩🏽‍🚀 e\u0301 a\u0323\u0302 \u212b",
)
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
WORDS = r"[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]"


def byte_pairs(pre_tokenizer, normalizer=None, processor=None, added=()):
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizer
    if normalizer:
        made.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=p.ByteLevel.alphabet(), special_tokens=["<s>"])
    made.train_from_iterator(CORPUS * 3, trainer)
    if processor:
        made.post_processor = processor
    made.add_tokens(list(added))
    return made


def unigram(normalizer, pre_tokenizer, added=()):
    made = tokenizers.Tokenizer(models.Unigram())
    made.normalizer, made.pre_tokenizer = normalizer, pre_tokenizer
    trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=["<unk>", "[MASK]"], unk_token="<unk>")
    made.train_from_iterator(CORPUS, trainer)
    made.add_tokens(list(added))
    return made


def word_pieces(added=(), **options):
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    made.normalizer, made.pre_tokenizer = n.BertNormalizer(**options), p.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special))
    made.add_tokens(list(added))
    return made


def words(normalizer, pre_tokenizer):
    vocabulary = sorted({word for text in CORPUS for word in text.lower().split()})
    made = tokenizers.Tokenizer(models.WordLevel({w: i for i, w in enumerate(["[UNK]", *vocabulary])}, "[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizer, pre_tokenizer
    return made


def charsmap():
    """SentencePiece's compiled normalizer: a and carriage return become b (a trie, see darts-clone, and a text)."""
    units = [0] * 1024
    units[0] = 256 << 10
    for letter in b"a\r":
        units[256 ^ letter] = (256 ^ letter ^ 600) << 10 | 1 << 8 | letter
    units[600] = 1 << 31
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + b"b\0"


def roberta(prefix):
    return post.RobertaProcessing(("</s>", 0), ("<s>", 0), trim_offsets=True, add_prefix_space=prefix)


SPACES = [AddedToken(" " * k, normalized=True) for k in range(6, 1, -1)]
ODD = [
    AddedToken("Zürich", single_word=True),
    AddedToken("@@", lstrip=True, rstrip=True),
    AddedToken("<x>", special=True),
]
MASK = AddedToken("<mask>", lstrip=True, rstrip=True, special=True)
PIPELINES = {
    "bert": lambda: word_pieces(),
    "bert-cased": lambda: word_pieces(lowercase=False),
    "bert-accents": lambda: word_pieces(lowercase=True, strip_accents=False, handle_chinese_chars=False),
    "bert-plain": lambda: word_pieces(clean_text=False, lowercase=False, strip_accents=True),
    "bert-added": lambda: word_pieces(ODD, lowercase=False),
    "roberta": lambda: byte_pairs(p.ByteLevel(add_prefix_space=False), processor=roberta(prefix=False), added=[MASK]),
    "roberta-prefix": lambda: byte_pairs(
        p.ByteLevel(add_prefix_space=True), processor=roberta(prefix=True), added=[MASK]
    ),
    "llama": lambda: byte_pairs(
        p.ByteLevel(add_prefix_space=False),
        processor=post.Sequence([post.ByteLevel(trim_offsets=True), post.TemplateProcessing(single="$A")]),
        added=[MASK],
    ),
    "modernbert": lambda: byte_pairs(p.ByteLevel(add_prefix_space=False), n.NFC(), added=SPACES),
    "qwen": lambda: byte_pairs(
        p.Sequence([p.Split(Regex(QWEN), "isolated"), p.ByteLevel(add_prefix_space=False, use_regex=False)]), n.NFC()
    ),
    "cl100k": lambda: byte_pairs(
        p.Sequence(
            [
                p.Split(Regex(QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")), "removed", invert=True),
                p.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    ),
    "albert": lambda: unigram(
        n.Sequence([n.Replace("``", '"'), n.Replace("''", '"'), n.NFKD(), n.StripAccents(), n.Lowercase()]),
        p.Metaspace(prepend_scheme="always"),
        [AddedToken("[MASK]", lstrip=True, special=True)],
    ),
    "t5": lambda: unigram(n.NFKC(), p.Sequence([p.WhitespaceSplit(), p.Metaspace(prepend_scheme="always")])),
    "deberta": lambda: unigram(
        n.Sequence([n.Strip(), n.Nmt(), n.NFKC(), n.Replace(Regex(" {2,}"), " "), n.Prepend("x")]),
        p.Metaspace(prepend_scheme="first"),
    ),
    "precompiled": lambda: unigram(n.Precompiled(charsmap()), p.Metaspace(prepend_scheme="always")),
    "word-vectors": lambda: words(n.Sequence([n.NFC(), n.Lowercase()]), p.Split(Regex(WORDS), "removed", invert=True)),
    "whitespace": lambda: words(n.NFD(), p.Whitespace()),
}
PIECES = (
    "[CLS]", "[MASK]", "<s>", "<x>", "<mask>", "Ġ", "@@", " @@ ", "Zürich", "##s", "'s", "'LL", "'ſ",
    "`` ''", " ", "  ", "\n", "\r\n", "\t", "\x0c", "\x85", "\0", "\u200b", "\u200d", "\ufeff", "\ufffd",
    "▁", "İ", "ẞ", "ﬁ", "①", "각", "豈", "\u0344", "e\u0301", "\u1100\u1161\u11a8", "a\u0323\u0302\u0301",
    "\u302e", "🏳️\u200d🌈", "x" * 30, "12345", "naïve", "．", "\u070f", "\u0e33",
)  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=12).map("".join)


@pytest.fixture(scope="module", params=PIPELINES)
def pair(request):
    reference = PIPELINES[request.param]()
    return reference, NativeTokenizer(reference.to_str())


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_ids_spans_and_words_are_those_of_the_reference(pair, text):
    check_equal(*pair, text)


@pytest.mark.parametrize(
    "text", [" <mask>", "a \t<mask>\u2003b", "  <mask>", "<mask> ", "\u070fa\u0301", "\u0600\u070fa\u0e33", "a\r\nb\r"]
)
def test_spaces_around_added_tokens_and_characters_before_a_grapheme_are_read_as_by_the_reference(pair, text):
    check_equal(*pair, text)


def check_equal(reference, ours, text):
    (wanted,) = reference.encode_batch([text], add_special_tokens=False)
    assert ours.encode([text]).ids.tolist() == wanted.ids
    found = ours.encode_with_spans(text)
    assert found.ids.tolist() == wanted.ids
    assert [tuple(span) for span in found.spans.tolist()] == wanted.offsets
    grouped = [wanted.word_ids.index(word) for word in wanted.word_ids]
    assert [found.words.tolist().index(word) for word in found.words.tolist()] == grouped


@pytest.mark.parametrize("name", ["bert", "bert-cased", "roberta", "albert", "t5"])
def test_every_character_of_unicode_gives_the_ids_of_the_reference(name):
    reference = PIPELINES[name]()
    ours = NativeTokenizer(reference.to_str())
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    texts = ["a".join(characters[i : i + 64]) for i in range(0, len(characters), 64)]
    wanted = reference.encode_batch_fast(texts, add_special_tokens=False)
    assert ours.encode(texts).lists() == [encoded.ids for encoded in wanted]


def test_texts_in_one_call_are_as_alone_and_threads_share_a_tokenizer(pair):
    ours, generator = pair[1], random.Random(0)
    texts = ["".join(generator.choices(PIECES, k=6)) for _ in range(200)] + ["", " "]
    alone = [ours.encode([text]).ids.tolist() for text in texts]
    assert ours.encode(texts).lists() == alone
    with ThreadPoolExecutor(4) as pool:
        assert all(lists == alone for lists in pool.map(lambda _: ours.encode(texts).lists(), range(8)))


def test_the_memory_of_every_call_is_freed(pair, monkeypatch):
    native, freed = pair[1], []
    free = native._c.lw_tokens_free
    monkeypatch.setattr(native._c, "lw_tokens_free", lambda tokens: freed.append(free(tokens)))
    native.encode(["a cat", "a dog"])
    native.encode_with_spans("a cat")
    with pytest.raises(ZeroDivisionError), native._tokens(["a cat"], spans=False):
        1 / 0  # noqa: B018
    assert len(freed) == 3


def test_words_that_are_too_long_are_reported_with_their_place_and_length(pair):
    reference, ours = pair
    found = ours.encode(["a " + "y" * 21, "z" * 20, "b " + "É" * 25 + "!"])
    if not isinstance(reference.model, models.WordPiece):
        assert not len(found.long_words)
        return
    assert found.long_words[:, [0, 2]].tolist() == [[0, 21], [2, 25]]
    unknown = reference.token_to_id("[UNK]")
    assert [found.lists()[text][position] for text, position, _ in found.long_words.tolist()] == [unknown, unknown]


def test_a_long_word_of_bytes_is_merged_as_a_short_one(pair):
    reference, ours = pair
    text = "abcdefg" * 3_000
    assert ours.encode([text]).ids.tolist() == reference.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalizer": {"type": "Rot13"}}, "the normalizer Rot13 is not supported"),
        ({"pre_tokenizer": {"type": "CharDelimiterSplit"}}, "the pre-tokenizer CharDelimiterSplit is not supported"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "x+"}, "behavior": "Isolated"}}, "the Split pattern"),
        ({"model": {"type": "Secret"}}, "the tokenizer model Secret is not supported"),
        ({"model": {"type": "WordPiece", "vocab": []}}, "vocabulary is no object"),
        ({"model": {"type": "WordPiece", "vocab": {"a": -1}}}, "expected a whole number from 0 on"),
        ({"model": {"type": "WordPiece", "vocab": {"a": "b"}}}, "a token's id is a text; expected a number"),
        ({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1}}, "unknown token's id is not in the vocab"),
        ({"model": {"type": "Unigram", "vocab": [["a", 0]]}}, "a Unigram model without an unknown token"),
        ({"model": {"type": "Unigram", "vocab": [], "unk_id": 0}}, "the tokenizer's vocabulary is empty"),
        ({"model": {"type": "Unigram", "vocab": [[]], "unk_id": 0}}, "is no pair of a text and a score"),
        ({"model": {"type": "Unigram", "vocab": [["a"]], "unk_id": 0}}, "a token of the vocabulary has no score"),
        ({"model": {"type": "Unigram", "byte_fallback": True, "vocab": [["a", 0]], "unk_id": 0}}, "byte_fallback"),
        ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}, "BPE without a ByteLevel pre-tokenizer"),
        ({"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "x"}}, "searches for an empty text"),
        ({"model": {"type": "WordLevel", "unk_token": "x", "vocab": {"x": 0, "a" * 1025: 1}}}, "a token of 1025 bytes"),
        ({"added_tokens": [{"content": f"a{i}", "id": i} for i in range(257)]}, "more than 256 added tokens with the"),
        ({"added_tokens": [{"content": "x"}]}, "id is nothing; expected a number"),
        *(
            ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": b64encode(data).decode()}}, "is cut off")
            for data in (b"\0" * 3, b"\4\0\0\0\0\0\0", b"\0" * 12, b"\5" + b"\0" * 11, b"\x0c" + b"\0" * 11)
        ),
    ],
)
def test_what_is_not_supported_or_broken_is_refused_by_name(change, message):
    described = json.loads((BUNDLED / "likewise-mini/tokenizer.json").read_text("utf-8"))
    with pytest.raises(BadModel, match=message):
        NativeTokenizer(json.dumps({**described, **change}))


@pytest.mark.parametrize(
    "source",
    ["", "{", "[]", "null", '{"a": }', '{"model": "\\ud800"}', "[" * 100_000, '{"a" 1}', "{}x", "nul", "-", "1e999"],
)
def test_broken_json_is_refused(source):
    with pytest.raises(BadModel):
        NativeTokenizer(source)


@pytest.mark.parametrize("extra", [0, 1])
def test_json_is_read_to_64_levels(extra):
    described = json.loads((BUNDLED / "likewise-mini/tokenizer.json").read_text("utf-8"))
    levels = 63 + extra  # below the object that holds them
    source = json.dumps(described)[:-1] + f', "more": {"[" * levels}{"]" * levels}}}'
    with pytest.raises(BadModel, match="64 levels") if extra else nullcontext():
        NativeTokenizer(source)


@given(st.binary(max_size=200), st.integers(0, 700_000))
@settings(max_examples=200, deadline=None)
def test_a_damaged_file_is_read_or_refused(piece, place):
    whole = (BUNDLED / "likewise-mini/tokenizer.json").read_text("utf-8")
    damaged = whole[:place] + piece.decode("latin-1") + whole[place + len(piece) :]
    try:
        ids = NativeTokenizer(damaged).encode(["A cat sleeps."]).ids
    except BadModel:
        return
    assert ids.dtype == np.int32
