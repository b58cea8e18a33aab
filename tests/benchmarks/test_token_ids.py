"""The comparison of tokenizers: what it draws, and that it notices a difference."""

import json

import pytest

from benchmarks import token_ids
from likewise.native.tokenizing import NativeTokenizer
from likewise.text.reference_tokenizer import ReferenceTokenizer
from tests.native.test_tokenizing import CORPUS, PIPELINES


def test_every_language_gives_all_its_texts_or_as_many_as_others_that_have_more(monkeypatch):
    found = {"a": list("12"), "b": list("3456789"), "c": list("ABCDEFGHI")}
    monkeypatch.setattr(token_ids, "texts_by_language", lambda: found)
    chosen = token_ids.chosen(12)
    assert {language: len(texts) for language, texts in chosen.items()} == {"a": 2, "b": 5, "c": 5}
    assert all({*texts} <= {*found[language]} for language, texts in chosen.items())
    with pytest.raises(SystemExit, match="18 distinct texts; expected 19"):
        token_ids.chosen(19)


def test_fuzzed_strings_are_distinct_valid_and_the_same_every_time():
    strings = token_ids.fuzzed(CORPUS, 500)
    assert len({*strings}) == 500
    assert strings == token_ids.fuzzed(CORPUS, 500)
    assert all(text.encode().decode() == text for text in strings)


@pytest.mark.parametrize("make", [NativeTokenizer, ReferenceTokenizer])
@pytest.mark.parametrize(("change", "wanted"), [({}, (False, False)), ({"[UNK]": 999}, (True, False))])
def test_a_difference_of_ids_is_noticed(make, change, wanted):
    theirs = PIPELINES["bert"]()
    described = json.loads(theirs.to_str())
    described["model"]["vocab"] |= change
    ((_, *found),) = token_ids.differences(theirs, make(json.dumps(described)), ["\U0001f9ff"])
    assert tuple(found) == wanted


def test_a_difference_of_offsets_is_noticed():
    theirs = PIPELINES["roberta"]()
    described = {**json.loads(theirs.to_str()), "post_processor": None}
    ((_, *found),) = token_ids.differences(theirs, NativeTokenizer(json.dumps(described)), ["a cat"])
    assert found == [False, True]
