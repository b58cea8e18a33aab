"""The vocabulary of a tokenizer.json, whichever way its model lists it."""

import pytest

from likewise.runtime.vocabulary import Vocabulary

ADDED = [{"content": "[X]", "id": 7, "special": True}, {"content": "b", "id": 9}]


@pytest.mark.parametrize("listed", [{"a": 0, "b": 1}, [["a", -1.5], ["b", -2.0]]])
def test_added_tokens_come_over_the_models_own(listed):
    vocabulary = Vocabulary({"model": {"vocab": listed}, "added_tokens": ADDED})
    assert vocabulary.ids == {"a": 0, "b": 9, "[X]": 7}
    assert vocabulary.names == {0: "a", 9: "b", 7: "[X]"}
    assert (vocabulary.size, vocabulary.special) == (10, {"[X]"})


def test_an_empty_vocabulary_has_no_size():
    assert Vocabulary({"model": {"vocab": {}}, "added_tokens": None}).size == 0


@pytest.mark.parametrize("wrong", [-1, 1 << 31, True, 1.0, "1", None])
def test_an_id_is_a_whole_number_of_31_bits(wrong):
    assert Vocabulary({"model": {"vocab": {"a": (1 << 31) - 1}}}).size == 1 << 31
    with pytest.raises(ValueError, match=r"not a whole number from 0 to 2,147,483,647"):
        Vocabulary({"model": {"vocab": {"a": 5, "b": wrong}}})
