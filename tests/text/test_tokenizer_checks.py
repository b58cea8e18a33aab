"""Tokenizers that would grow a text, search it or break without end: refused, or an error of ours."""

import json
import time

import pytest
import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers, processors

from likewise.errors import BadModel
from likewise.text import tokenizer_checks
from likewise.text.library_tokenizer import library_errors
from likewise.text.tokenizer import Tokenizer
from likewise.text.tokenizer_checks import nested_repeat
from tests.tiny import wordpieces

Replace, Split = normalizers.Replace, pre_tokenizers.Split


def _load(folder, backend) -> Tokenizer:
    backend.save(str(folder / "tokenizer.json"))
    return Tokenizer.load(folder, 20)


def _normalised(*steps):
    backend = wordpieces()
    backend.normalizer = normalizers.Sequence(list(steps))
    return backend


GROWING = {
    "a chain of replacements": [Replace("a", "aa")] * 30,
    "one long replacement": [Replace("a", "b" * 20_000)],
    "a replacement of nothing": [Replace(Regex("x*"), "b" * 20_000)],
    "chains in chains": [normalizers.Sequence([Replace("e", "eee")] * 5)] * 2,
    "many beginnings": [normalizers.Prepend("a" * 99)] * 3,
    "bytes of bytes": [normalizers.ByteLevel()] * 8,
}


@pytest.mark.parametrize("kind", GROWING)
def test_a_text_that_would_grow_without_end_is_refused(kind, tmp_path):
    began = time.process_time()
    with pytest.raises(BadModel, match=r"could make a text [\d,]+ times as long; expected at most 10,000 times"):
        _load(tmp_path, _normalised(*GROWING[kind]))
    assert time.process_time() - began < 2


def test_bytes_of_bytes_are_refused_among_pre_tokenizers_too(tmp_path):
    backend = wordpieces()
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.ByteLevel()] * 8)
    with pytest.raises(BadModel, match="times as long"):
        _load(tmp_path, backend)


def test_too_many_steps_are_refused(tmp_path):
    with pytest.raises(BadModel, match="applies 102 steps to a text; expected at most 100"):
        _load(tmp_path, _normalised(*[normalizers.NFC()] * 101))


def test_replacements_in_use_are_none_of_this(tmp_path):
    usual = [
        Replace("``", '"'),
        Replace(Regex(" {2,}"), " "),
        normalizers.NFKD(),
        Replace("'", " ' "),
        Replace(" ", "▁"),
    ]
    usual += [normalizers.Prepend("▁"), normalizers.Lowercase()]
    assert _load(tmp_path, _normalised(*usual)).token_ids(["a"])


HARMFUL = [
    "(x+x+)+y",
    "(a*)*",
    r"(?:\p{L}+)+",
    "((x+)y?)*",
    "(x{1,3})+",
    r"(?i:(\w+)\s?)+",
    r"(?:(?:\s+)|b)*",
    "(a+|-)+",
    "(x+x+){50}y",
    r"(?:[a-z\]]+\s*){2,}",
]
HARMLESS = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{M}]*[\p{Ll}\p{M}]+(?i:'s|'t)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r" ?[^(\s|[.,!?…。,、।۔،])]+",
    r"\d{1,3}(?=(?:\d{3})*\b)",
    r"\w+(?:[-']\w+)*",
    r"(?:[A-Z]\.)+",
    "(?>x+)+",
    "(x++)+",
    "(?i)(ab)+c*",
    "(",
]


@pytest.mark.parametrize("pattern", HARMFUL)
def test_a_repeat_of_repeats_is_found_and_refused(pattern, tmp_path):
    assert nested_repeat(pattern)
    for part in ("normalizer", "pre_tokenizer"):
        backend = wordpieces()
        setattr(
            backend, part, Replace(Regex(pattern), "") if part == "normalizer" else Split(Regex(pattern), "isolated")
        )
        with pytest.raises(BadModel, match="repeats a repetition"):
            _load(tmp_path, backend)


@pytest.mark.parametrize("pattern", HARMLESS)
def test_patterns_in_use_are_none(pattern):
    assert nested_repeat(pattern) is None


def test_a_pattern_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(BadModel, match="a pattern of 20,000 characters"):
        _load(tmp_path, _normalised(Replace(Regex("a" * 20_000), "")))


def test_a_panic_of_the_library_is_an_error_of_ours_and_ctrl_c_is_not(tmp_path):
    backend = wordpieces()
    backend.pre_tokenizer = Split(Regex("(a|aa)+$"), "isolated")  # which no look at repeats finds
    tokenizer = _load(tmp_path, backend)
    with pytest.raises(BadModel, match="tokenizer failed on these texts"):
        tokenizer.token_ids(["a" * 60 + "b"])
    with pytest.raises(KeyboardInterrupt), library_errors("nothing"):
        raise KeyboardInterrupt


def test_merges_dropped_at_random_are_refused(tmp_path):
    backend = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0}, [], dropout=0.5))
    with pytest.raises(BadModel, match=r"at random \(dropout = 0.5"):
        _load(tmp_path, backend)


def test_a_template_with_special_tokens_inside_a_text_is_refused(tmp_path):
    backend = wordpieces()
    known = [(word, backend.token_to_id(word)) for word in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP] $A", special_tokens=known)
    with pytest.raises(BadModel, match="inserts special tokens into a text"):
        _load(tmp_path, backend)


@pytest.mark.parametrize("key", ["do_lower_case", "strip_accents", "tokenize_chinese_chars"])
@pytest.mark.parametrize("value", ["no", 0, 1.5, [], {}], ids=str)
def test_junk_beside_an_older_vocabulary_is_refused(key, value, tmp_path):
    (tmp_path / "vocab.txt").write_text("[CLS]\n[SEP]\n[UNK]\na")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({key: value}))
    with pytest.raises(BadModel, match=rf"tokenizer_config.json has {key} = .*; expected true or false"):
        Tokenizer.load(tmp_path, 20)


@pytest.mark.parametrize("added", ["[]", '{"b": "x"}', '{"b": 1.5}', '{"b": true, "c": null}', "{"])
def test_junk_among_added_tokens_is_refused(added, tmp_path):
    (tmp_path / "vocab.txt").write_text("[CLS]\n[SEP]\n[UNK]\na")
    (tmp_path / "added_tokens.json").write_text(added)
    with pytest.raises(BadModel, match="added_tokens.json"):
        Tokenizer.load(tmp_path, 20)


def test_what_is_just_within_the_limits_is_read(tmp_path, monkeypatch):
    steps = [normalizers.NFC()] * 98  # and BERT's splitting, which is two
    built = _normalised(*steps)
    assert _load(tmp_path, built)
    monkeypatch.setattr(tokenizer_checks, "MAX_STEPS", 98)
    with pytest.raises(BadModel, match="applies 99 steps to a text; expected at most 98"):
        _load(tmp_path, built)
    monkeypatch.setattr(tokenizer_checks, "MAX_PATTERN_LENGTH", 7)
    for length in (7, 8):
        if length == 7:
            assert _load(tmp_path, _normalised(Replace(Regex("z" * length), "")))
        else:
            with pytest.raises(BadModel, match="a pattern of 8 characters; expected at most 7"):
                _load(tmp_path, _normalised(Replace(Regex("z" * length), "")))
    monkeypatch.setattr(tokenizer_checks, "MAX_GROWTH", 6)
    assert _load(tmp_path, _normalised(Replace("z", "yy"), Replace("zz", "y" * 6)))
    with pytest.raises(BadModel, match="8 times as long; expected at most 6"):
        _load(tmp_path, _normalised(Replace("z", "yy"), Replace("z", "y" * 4)))


@pytest.mark.parametrize(
    ("step", "growth"),
    [
        (Replace("ab", "c" * 5), 2.5),
        (Replace("ab", "c"), 1.0),
        (Replace(Regex("a+"), "cc"), 3.0),
        (Replace(Regex("a+"), ""), 1.0),
        (normalizers.Prepend("abc"), 4.0),
        (normalizers.ByteLevel(), 4.0),
        (normalizers.NFC(), 1.0),
    ],
)
def test_a_step_makes_a_text_so_many_times_as_long(step, growth):
    (described,) = tokenizer_checks._steps(json.loads(step.__getstate__()))
    assert tokenizer_checks._growth(described) == growth


@pytest.mark.parametrize(
    ("pattern", "atoms"),
    [  # begin, end without and with the quantifier, whether its length varies, whether without bound
        ("ab*", [(0, 1, 1, False, False), (1, 2, 3, True, True)]),
        ("a?b", [(0, 1, 2, False, False), (2, 3, 3, False, False)]),
        ("a{3}b{2,}c{1,9}", [(0, 1, 4, False, False), (4, 5, 9, True, True), (9, 10, 15, True, False)]),
        ("a{20}b{21}", [(0, 1, 5, False, False), (5, 6, 10, False, True)]),
        ("a{0,20}b{0,21}", [(0, 1, 7, True, False), (7, 8, 14, True, True)]),
        ("a++b*?", [(0, 1, 3, False, False), (3, 4, 6, True, True)]),
        (r"\p{L}+\w", [(0, 5, 6, True, True), (6, 8, 8, False, False)]),
        (r"[a[b\]]c]*d", [(0, 9, 10, True, True), (10, 11, 11, False, False)]),
        ("(?i)a", [(0, 4, 4, False, False), (4, 5, 5, False, False)]),
        ("(?:a)", [(0, 3, 3, False, False), (3, 4, 4, False, False), (4, 5, 5, False, False)]),
        ("[a", [(0, 2, 2, False, False)]),
    ],
)
def test_a_pattern_has_these_parts(pattern, atoms):
    assert list(tokenizer_checks._atoms(pattern)) == atoms


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("x(a+b+)+y", "(a+b+)+"),
        ("((a+)b)*", "((a+)b)*"),
        ("(a+-)*", None),
        ("(a+|-)*", "(a+|-)*"),
        ("(?>a+)*", None),
        ("((?>a+))*", None),
        ("(a*)?", None),
        ("(a)+", None),
        (")a+", None),
        ("(a{2}b{3})+", None),
        ("(-?a+)*", "(-?a+)*"),
    ],
)
def test_the_repeated_group_that_repeats_is_named(pattern, found):
    assert nested_repeat(pattern) == found
