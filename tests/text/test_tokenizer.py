"""Text to token ids, and windows over what is too long."""

import json
import sys

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.sequences import Sequences
from likewise.errors import BadInput, BadModel
from likewise.text.library_tokenizer import LibraryTokenizer
from likewise.text.reference_tokenizer import normalizer_of
from likewise.text.tokenizer import Tokenizer, _engine, max_input_length, truncate_longest_first, window_starts
from likewise.text.tokenizer_json import PairFrame
from tests.tiny import wordpieces


def _tokenizer(folder, backend=None, **how) -> Tokenizer:
    (backend or wordpieces()).save(str(folder / "tokenizer.json"))
    return Tokenizer.load(folder, **{"max_seq_length": 20, **how})


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Tokenizer:
    return _tokenizer(tmp_path_factory.mktemp("tokenizer"))


def long_words(tokenizer, texts):
    """The position and the length of each word that is too long, by the text's number."""
    found = {}
    for text, *word in tokenizer.encode(texts).long_words.tolist():
        found.setdefault(text, []).append(tuple(word))
    return found


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_ids_with_special_tokens_are_those_the_backend_gives(plain, text):
    assert plain.with_special_tokens(plain.token_ids([text])[0]) == wordpieces().encode(text).ids


@given(st.text(st.characters() | st.sampled_from("ab \ud83d\ude00\udfff")))
def test_any_str_has_the_ids_of_its_letters_and_of_a_replacement_for_each_lone_surrogate(plain, text):
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    letters = "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in joined)
    assert plain.token_ids([text])[0] == wordpieces().encode(letters, add_special_tokens=False).ids


def test_special_tokens_around_a_text_are_found(plain, tmp_path):
    backend = wordpieces()
    assert plain.prefix == (backend.token_to_id("[CLS]"),)
    assert plain.suffix == (backend.token_to_id("[SEP]"),)
    assert plain.max_content_length == 18
    assert plain.tokens(plain.token_ids(["the dogs"])[0]) == ["[CLS]", "the", "dog", "##s", "[SEP]"]
    assert plain.tokens([plain.vocabulary]) == ["[CLS]", "", "[SEP]"], "an id without a token"


def test_lower_casing_happens_where_it_is_asked_for(tmp_path):
    cased = _tokenizer(tmp_path, wordpieces(lowercase=False))
    lowered = Tokenizer.load(tmp_path, 20, lowercase=True)
    assert cased.token_ids(["THE Cat"]) != cased.token_ids(["the cat"])
    assert lowered.token_ids(["THE Cat"]) == cased.token_ids(["the cat"])


def slow_unread(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    """Each word apart, as the tokenizer's own parts give it, in order; added tokens are not looked at."""
    backend, found, place = tokenizers.Tokenizer.from_str(tokenizer.description), [], 0
    for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text)):
        if len(word) > 100:
            found.append((place, len(word)))
        place += len(backend.model.tokenize(word))
    return found


WORDS = st.one_of(
    st.tuples(st.sampled_from("aZ0éé한İﷺ中\x00\x1c ,𝔘"), st.integers(1, 130)).map(lambda x: x[0] * x[1]),
    st.text(max_size=5),
)


@given(st.lists(st.tuples(WORDS, st.sampled_from(["", " ", "\t", "\u00a0", "\x0b", ".", "ﬁ"]))))
def test_words_too_long_are_those_that_the_parts_of_the_tokenizer_give(plain, parts):
    text = "".join(word + gap for word, gap in parts).replace("[", "(").encode("utf-8", "replace").decode()
    assert long_words(plain, [text]).get(0, []) == slow_unread(plain, text)


@pytest.mark.parametrize("most", [7, 100, 250])
def test_the_longest_word_is_as_the_tokenizer_itself_says(most, tmp_path):
    backend = wordpieces()
    backend.model.max_input_chars_per_word = most
    tokenizer = _tokenizer(tmp_path, backend)
    texts = ["a" * most, "a" * (most + 1)]
    assert tokenizer.longest_word == most
    assert long_words(tokenizer, texts) == {1: [(0, most + 1)]}


def test_a_word_that_is_too_long_only_after_normalization_is_found(plain):
    texts = ["한" * 60, "a b " + "한" * 34, "한" * 33, "a" * 60 + "\x00" * 60]  # three letters each; control letters go
    assert long_words(plain, texts) == {0: [(0, 180)], 1: [(2, 102)]}


def test_words_too_long_are_found_in_a_tokenizer_that_only_the_library_reads(tmp_path):
    backend = wordpieces()
    steps = [backend.normalizer, tokenizers.normalizers.Replace(tokenizers.Regex("(?<=x)-+"), "")]
    backend.normalizer = tokenizers.normalizers.Sequence(steps)
    tokenizer = _tokenizer(tmp_path, backend)
    assert isinstance(tokenizer.engine, LibraryTokenizer)
    texts = ["cat ☃", "the cat " + "x-" * 101, "x-" * 100]
    assert long_words(tokenizer, texts) == {1: [(2, 101)]}


def test_a_normalizer_whose_kind_is_no_text_is_not_read_in_plain_python():
    with pytest.raises(BadModel, match=r"the normalizer \[1, 2\] is not supported"):
        normalizer_of({"type": [1, 2]})


def test_a_word_that_is_unknown_and_short_is_no_word_too_long(plain):
    texts = ["☃", "[UNK]", "☃ " * 200, "[UNK]" * 60, "a" * 99 + "☃"]
    contents = plain.token_ids(texts)
    assert all(plain.token_ids_by_name["[UNK]"] in ids for ids in contents)
    assert long_words(plain, texts) == {}


@given(st.integers(0, 300), st.integers(0, 8))
def test_windows_cover_every_token_and_are_equally_long(plain, count, leading):
    prompt, body = list(range(1000, 1000 + leading)), list(range(count))
    windows = plain.windows(prompt + body, prompt)
    if leading + count <= plain.max_content_length:
        assert windows == [prompt + body]
        return
    assert {len(window) for window in windows} == {plain.max_content_length}
    assert all(window[:leading] == prompt for window in windows)
    bodies = [window[leading:] for window in windows]
    assert all(b == list(range(b[0], b[-1] + 1)) for b in bodies), "a window has a hole"
    assert sorted({token for b in bodies for token in b}) == body


def test_a_prompt_that_leaves_no_room_is_refused(plain):
    prompt = list(range(18))
    with pytest.raises(BadInput, match="has 18 tokens, and the model reads 18"):
        plain.windows([*prompt, 1, 2], prompt)


def test_companions_are_carried_along(tmp_path):
    (tmp_path / "special_tokens_map.json").write_text('{"pad_token": "[PAD]"}')
    (tmp_path / "new").mkdir()
    _tokenizer(tmp_path).save(tmp_path / "new")
    assert (tmp_path / "new/special_tokens_map.json").read_text() == '{"pad_token": "[PAD]"}'


def test_vocab_json_with_merges_is_read_as_byte_pairs(tmp_path):
    made = tokenizers.ByteLevelBPETokenizer()
    made.train_from_iterator(["the cat sat on the mat"] * 5, 300, special_tokens=["<s>", "<pad>", "</s>", "<unk>"])
    made.save_model(str(tmp_path))
    read = Tokenizer.load(tmp_path, 20)
    assert read.prefix == (0,)
    assert read.suffix == (2,)
    assert made.decode(read.token_ids(["the cat 😀"])[0]) == "the cat 😀"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no tokenizer.json"),
        ({"x.model": "?"}, "it has a SentencePiece model"),
        ({"tokenizer.json": "{"}, "cannot be read"),
        ({"tokenizer.json": "[]"}, "cannot be read"),
        ({"tokenizer.json": '{"model": {"unk_id": 0, "vocab": [["a", NaN]]}}'}, "NaN is not a number in JSON"),
        ({"vocab.txt": "a\nb"}, "lacks"),
        ({"vocab.txt": "[CLS]\n[SEP]\n[UNK]\na", "tokenizer_config.json": "[1"}, "cannot be read|not valid JSON"),
        ({"vocab.txt": "[CLS]\n[SEP]\n[UNK]\na", "tokenizer_config.json": "[1]"}, "cannot be read|object"),
        ({"vocab.json": "{", "merges.txt": ""}, "cannot be read"),
        ({"vocab.json": '{"a": 0}', "merges.txt": "#version: 0.2\n"}, "lacks <s>"),
        ({"vocab.json": '{"<s>": 0}', "merges.txt": ""}, "lacks <s> or </s>"),
        ({"vocab.json": '{"<s>": 0, "</s>": 1}', "merges.txt": "a"}, "the line 'a'; expected two tokens"),
        ({"tokenizer.json": wordpieces().to_str(), "tokenizer_config.json": "[1]"}, "tokenizer_config.json.*object"),
    ],
)
def test_a_broken_tokenizer_says_what_is_wrong(tmp_path, files, message):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(BadModel, match=message):
        Tokenizer.load(tmp_path, 20)


def test_a_tokenizer_that_only_the_library_may_read_says_what_to_install(plain, monkeypatch):
    described = json.dumps({**json.loads(plain.description), "normalizer": {"type": "Rot13"}})
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(BadModel, match="the tokenizer cannot be read: .*Rot13.*pip install .*tokenizers"):
        _engine(described)


# pairs


@pytest.mark.parametrize("rounded", [False, True])
@given(st.integers(0, 12), st.integers(0, 12), st.integers(4, 30))
def test_two_texts_get_special_tokens_and_are_truncated_as_the_library_that_made_the_tokenizer_does(
    rounded, first, second, longest
):
    backend = wordpieces(rounded)
    frame = PairFrame.of(json.loads(backend.to_str())["post_processor"])
    longest = max(longest, frame.specials)
    backend.enable_truncation(longest, strategy="longest_first")
    texts = " ".join("abcdefghijkl"[:first]), " ".join("mnopqrstuvwx"[:second])
    wanted = backend.encode(*texts)
    ids = [backend.encode(text, add_special_tokens=False).ids for text in texts]
    sizes = truncate_longest_first(first, second, longest - frame.specials)
    assert frame.ids(ids[0][: sizes[0]], ids[1][: sizes[1]]) == wanted.ids
    assert frame.kinds(*sizes) == wanted.type_ids


def test_each_part_of_a_pair_has_the_segment_of_the_template():
    backend = wordpieces()
    special = [(word, backend.token_to_id(word)) for word in ("[CLS]", "[SEP]")]
    template = {"single": "[CLS] $A [SEP]", "pair": "[CLS]:0 $A:1 [SEP]:2 $B:3 [SEP]:4"}
    backend.post_processor = tokenizers.processors.TemplateProcessing(**template, special_tokens=special)
    assert (
        PairFrame.of(json.loads(backend.to_str())["post_processor"]).kinds(2, 1)
        == backend.encode("a b", "c").type_ids
        == [0, 1, 1, 2, 3, 4]
    )


@pytest.mark.parametrize("same", [("[UNK]", "[CLS]"), ("y", "z")])
def test_tokens_that_share_an_id_are_all_saved(same, tmp_path):
    path = tmp_path / "tokenizer.json"
    wordpieces().save(str(path))
    described = json.loads(path.read_text())
    described["model"]["vocab"][same[0]] = described["model"]["vocab"][same[1]]
    path.write_text(json.dumps(described))
    made = Tokenizer.load(tmp_path, 16)
    (tmp_path / "again").mkdir()
    made.save(tmp_path / "again")
    assert Tokenizer.load(tmp_path / "again", 16).description == made.description
    assert json.loads(made.description)["model"]["vocab"] == described["model"]["vocab"]


def test_windows_are_evenly_spread_from_the_first_token_to_the_last(plain):
    body = list(range(1000))
    windows = plain.windows(body)
    last, stride = 1000 - 18, 18 - 18 // 8
    count = -(-last // stride) + 1
    assert [w[0] for w in windows] == [round(i * last / (count - 1)) for i in range(count)]
    assert plain.windows(body[:18]) == [body[:18]] and len(plain.windows(body[:19])) == 2


@given(st.integers(0, 80), st.integers(1, 20), st.integers(2, 9))
def test_windows_are_as_few_as_can_overlap_by_their_share(length, width, overlap):
    starts = window_starts(length, width, overlap)
    if length <= width:
        assert starts == [0]
        return
    steps = np.diff(starts)
    assert starts[0] == 0 and starts[-1] == length - width
    assert steps.max() <= width - width // overlap and steps.max() - steps.min() <= 1
    assert (len(starts) - 2) * (width - width // overlap) < length - width, "one window less would not do"


@pytest.mark.parametrize(
    ("requested", "configured", "found"),
    [
        *((None, None, 512), (1, None, 1), (None, 128, 128), (64, 128, 64), (None, 900, 512), (512, 1, 512)),
        (np.int64(64), None, 64),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_the_longest_input_is_as_asked_for_or_as_configured_or_as_the_encoder_reads(requested, configured, found):
    result = max_input_length(requested, configured, 512)
    assert result == found and type(result) is int
    for wrong in (0, -1, 513, 5000, True, 1.5):
        with pytest.raises(BadInput, match=f"max_seq_length is {wrong}; this encoder reads 1 to 512 tokens"):
            max_input_length(wrong, configured, 512)


@pytest.mark.parametrize("pad", ["[PAD]", "<pad>", None])
def test_a_folder_without_a_config_gets_the_least_that_others_need(pad, tmp_path):
    backend = wordpieces(pad == "<pad>")
    if pad is None:
        backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    made = _tokenizer(tmp_path, backend)
    wanted = {"tokenizer_class": "PreTrainedTokenizerFast", **({"pad_token": pad} if pad else {})}
    assert made.settings == wanted


def test_ids_beyond_an_encoders_vocabulary_are_found_and_special_ones_refused(plain):
    last = plain.vocabulary - 1
    contents = Sequences.of([[5], [], [3, last], [last]])
    assert plain.first_out_of_vocabulary(contents, plain.vocabulary) is None
    assert plain.first_out_of_vocabulary(contents, last) == (2, plain.id_to_token(last))
    assert plain.first_out_of_vocabulary(Sequences.of([[5], []]), last) is None
    plain.check(4)  # the special tokens have the ids 2 and 3
    with pytest.raises(
        BadModel, match="uses ids up to 3 for special tokens .* but the encoder has vectors for only 3 ids"
    ):
        plain.check(3)


def test_an_older_folder_says_how_letters_are_treated(tmp_path):
    (tmp_path / "vocab.txt").write_text("[CLS]\n[SEP]\n[UNK]\na\nA\né\ne\nÉ\n中", "utf-8")

    def pieces(text, **settings):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
        made = Tokenizer.load(tmp_path, 20)
        return [made.id_to_token(i) for i in made.token_ids([text])[0]]

    assert pieces("A É") == ["a", "e"]  # lower-cased, and with that without accents
    assert pieces("A É", strip_accents=False) == ["a", "é"]
    assert pieces("A É", do_lower_case=False) == ["A", "É"]
    assert pieces("中中") == ["中", "中"] and pieces("中中", tokenize_chinese_chars=False) == ["[UNK]"]
