"""What becomes of words that a vocabulary lacks, as the file beside the tokenizer says."""

import json
import re

import pytest

from likewise.arrays.ngram_hashing import subword_buckets
from likewise.errors import BadModel
from likewise.text.tokenizer import Tokenizer
from likewise.text.unknown_words import FILE, UnknownWords
from tests.tiny import amend, wordpieces


def told(folder, value):
    (folder / FILE).write_text(value if isinstance(value, str) else json.dumps(value))
    return UnknownWords.read(folder)


def test_a_folder_that_says_nothing_has_none(tmp_path):
    assert UnknownWords.read(tmp_path) is None


def test_what_is_not_said_is_nothing_and_what_is_said_is_kept(tmp_path):
    assert vars(told(tmp_path, {"id": 5})) == {"id": 5, "least": 0, "most": 0, "buckets": 0, "first": 0}
    whole = {"id": 1, "least": 3, "most": 6, "buckets": 100, "first": 2**31 - 1}
    assert vars(told(tmp_path, whole)) == whole


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("value", [-1, 2**31, 1.0, True, None, "3"])
@pytest.mark.parametrize("key", ["id", "least", "most", "buckets", "first"])
def test_a_number_that_cannot_be_is_a_bad_model(key, value, tmp_path):
    with pytest.raises(BadModel, match=f"{re.escape(FILE)} contains .*; expected whole numbers of 0 or more"):
        told(tmp_path, {"id": 1, key: value})


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "contains a list; expected a JSON object"),
        ("{}", "expected an object with id, least, most, buckets, first"),
        ('{"id": 1, "ids": 2}', "expected an object with id, least, most, buckets, first"),
    ],
)
def test_what_is_no_such_object_is_a_bad_model(value, why, tmp_path):
    with pytest.raises(BadModel, match=f"{re.escape(FILE)} .*{why}"):
        told(tmp_path, value)


def test_the_first_n_gram_has_an_id_of_its_own_kind_and_those_behind_it_others():
    unknown = UnknownWords(id=7, least=3, most=4, buckets=50, first=100)
    buckets = subword_buckets("cattle", 3, 4, 50)
    assert len(buckets) > 3
    assert unknown.spelled("cattle") == [100 + buckets[0], *(150 + bucket for bucket in buckets[1:])]
    assert unknown.largest == 199 and UnknownWords(id=300, least=3, most=4, buckets=50, first=100).largest == 300
    assert UnknownWords(id=7).largest == 7 and UnknownWords(id=7, first=100).largest == 7
    assert UnknownWords(id=7).spelled("cattle") == []


def test_a_spelled_word_is_one_word_to_a_reader():
    unknown = UnknownWords(id=7, least=3, most=4, buckets=50, first=100)
    ids = [3, 99, 100, 149, 150, 199, 4]
    assert unknown.words(ids) == [3, 99, 7, 7, 4]
    assert UnknownWords(id=7).words(ids) == ids


def test_a_tokenizer_that_makes_no_token_of_a_letter_is_a_bad_model(tmp_path):
    wordpieces().save(str(tmp_path / "tokenizer.json"))
    assert Tokenizer.load(tmp_path, 16)
    amend(tmp_path / "tokenizer.json", normalizer={"type": "Replace", "pattern": {"String": "a"}, "content": ""})
    with pytest.raises(BadModel, match="gives no token for the letter 'a', so it cannot encode text"):
        Tokenizer.load(tmp_path, 16)


def test_special_tokens_leave_room_for_one_more_at_least(tmp_path):
    wordpieces().save(str(tmp_path / "tokenizer.json"))
    assert Tokenizer.load(tmp_path, 3).max_content_length == 1
    with pytest.raises(BadModel, match="max_seq_length is 2, but 2 special tokens leave no room"):
        Tokenizer.load(tmp_path, 2)


def test_added_tokens_have_the_ids_that_the_folder_gives_them_or_it_is_a_bad_model(tmp_path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    (tmp_path / "added_tokens.json").write_text(json.dumps({"[two]": 7, "[one]": 6, "[SEP]": 3}))
    built = Tokenizer.load(tmp_path, 16)
    assert [token["id"] for token in built.described["added_tokens"]] == [0, 1, 2, 3, 6, 7]
    assert built.decode([2, 4, 6, 7, 3]) == "a [one] [two]", "which are no special tokens"
    assert [built.token_ids_by_name[token] for token in ("[one]", "[two]")] == [6, 7] and built.vocabulary == 8
    (tmp_path / "added_tokens.json").write_text(json.dumps({"[one]": 7}))
    with pytest.raises(BadModel, match=r"gives '\[one\]' the id 7, which is not the next free id"):
        Tokenizer.load(tmp_path, 16)


def test_an_encoder_has_a_vector_for_the_largest_id_of_unknown_words(tmp_path):
    wordpieces().save(str(tmp_path / "tokenizer.json"))
    told(tmp_path, {"id": 1, "least": 3, "most": 4, "buckets": 50, "first": 100})
    tokenizer = Tokenizer.load(tmp_path, 16)
    tokenizer.check(200)
    with pytest.raises(
        BadModel,
        match="uses ids up to 199 for special tokens or unknown words, but the encoder has vectors for only 199 ids",
    ):
        tokenizer.check(199)
