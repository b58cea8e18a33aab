"""A token's characters are found in the text itself, whatever was done to it before it was tokenized."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.text.tokenizer import Tokenizer
from likewise.text.unknown_words import UnknownWords
from tests.tiny import wordpieces

TEXT = st.text(st.sampled_from("aB c.İΣé\u200d\ud83d\ude00\ud800\udbff\udc00\udfff東"), max_size=20)


@pytest.fixture(scope="module")
def tokenizers_of(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    wordpieces(lowercase=False).save(str(folder / "tokenizer.json"))
    return {lowercase: Tokenizer.load(folder, 64, lowercase) for lowercase in (False, True)}


def test_a_token_knows_its_characters_behind_letters_that_grow_when_lower_cased(tokenizers_of):
    text = "İİ the cat \ud83d\ude00 dog"
    ids, spans = tokenizers_of[True].ids_and_spans(text)
    words = {tokenizers_of[True].id_to_token(i): text[a:b] for i, (a, b) in zip(ids, spans, strict=True)}
    assert (words["the"], words["cat"], words["dog"]) == ("the", "cat", "dog")


@given(TEXT, st.booleans())
def test_ids_are_those_of_the_text_and_spans_lie_in_it_in_order(tokenizers_of, text, lowercase):
    tokenizer = tokenizers_of[lowercase]
    ids, spans = tokenizer.ids_and_spans(text)
    assert ids == tokenizer.token_ids([text])[0]
    assert len(spans) == len(ids)
    assert all(0 <= start < stop <= len(text) for start, stop in spans)
    assert sorted(spans[:, 1].tolist()) == spans[:, 1].tolist()
    for i, (start, stop) in zip(ids, spans, strict=True):
        word = tokenizer.id_to_token(i).removeprefix("##")
        assert word == "[UNK]" or word == (text[start:stop].lower() if lowercase else text[start:stop])


def test_models_that_spell_words_by_ngrams_are_refused(tokenizers_of):
    spelled = replace(tokenizers_of[False], unknown=UnknownWords(1, 3, 4, 10, 200))
    with pytest.raises(BadInput, match="n-grams"):
        spelled.ids_and_spans("a cat")


def test_skipped_words_have_no_place(tokenizers_of):
    skipping = replace(tokenizers_of[False], unknown=UnknownWords(1))
    ids, spans = skipping.ids_and_spans("東 the 東 cat")
    assert (len(ids), spans.tolist()) == (2, [[2, 5], [8, 11]])
