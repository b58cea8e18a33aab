"""Texts that are made of others: what each change does, and that no text is made twice or is a test's."""

from itertools import cycle, islice
from random import Random

import numpy as np
import pytest

from likewise.errors import BadInput
from papers.recipes.distillation import changed_texts as module
from papers.recipes.distillation.changed_texts import (
    CHANGES,
    FUNCTION_WORDS,
    PATTERNS,
    QUESTION_CHANGES,
    Changer,
    bare,
    changed_texts,
    content_words,
    near_words,
)
from papers.recipes.distillation.changed_texts import NEAR as NUMBER

NEAR = {"dog": ["cat", "wolf"], "park": ["garden", "lawn"], "guitar": ["violin", "piano"]}
TEXTS = [
    "The dog runs through the park every morning.",
    "A man is playing a Guitar on the stage.",
    "Why does my dog sleep so long?",
    "How can I learn guitar without a teacher?",
    "dog",
]


@pytest.fixture
def changer() -> Changer:
    return Changer(TEXTS, NEAR, Random(0))


def outcomes(change, changer, text: str) -> set[str]:
    results = (change(changer, text.split()) for _ in range(200))
    return {" ".join(result) for result in results if result is not None}


def test_a_word_becomes_one_near_it(changer):
    found = outcomes(Changer.replace_words, changer, "The Dog, at last.")
    assert found == {"The cat, at last.", "The wolf, at last."}
    both = outcomes(Changer.replace_words, changer, "dog park")
    assert {"cat park", "dog lawn", "wolf garden"} < both and "dog park" not in both
    assert outcomes(Changer.replace_words, changer, "the of zebra") == set()


def test_one_or_two_words_are_dropped(changer):
    words = "one two three four five"
    found = outcomes(Changer.drop_words, changer, words)
    assert {len(text.split()) for text in found} == {3, 4}
    assert all(iter_in(text.split(), words.split()) for text in found)
    assert outcomes(Changer.drop_words, changer, "one two three") == set()


def iter_in(part, whole) -> bool:
    """Whether the one is the other with words left out."""
    rest = iter(whole)
    return all(word in rest for word in part)


def test_two_content_words_change_places(changer):
    assert outcomes(Changer.swap_words, changer, "man bites the dog") == {
        "bites man the dog",
        "dog bites the man",
        "man dog the bites",
    }
    assert outcomes(Changer.swap_words, changer, "to be or not to be") == set()


def test_negation_is_put_in_and_taken_out(changer):
    assert outcomes(Changer.negate, changer, "dogs do bark") == {"dogs do not bark"}
    assert outcomes(Changer.negate, changer, "dogs do not bark") == {"dogs do bark", "dogs do not not bark"}
    assert outcomes(Changer.negate, changer, "not a dog") == {"a dog"}
    assert outcomes(Changer.negate, changer, "A dog barks") == {"no dog barks"}
    assert outcomes(Changer.negate, changer, "dogs bark") == set()


def test_halves_and_beginnings(changer):
    beginning = TEXTS[1].split()[:4]
    for text in outcomes(Changer.graft, changer, TEXTS[1]):
        assert text.split()[:4] == beginning
    words = TEXTS[0].split()
    for text in outcomes(Changer.shorten, changer, TEXTS[0]):
        part = text.split()
        assert 2 <= len(part) < len(words) and part in (words[: len(part)], words[-len(part) :])


def test_a_question_asks_another_thing_of_the_same(changer):
    assert outcomes(Changer.ask_otherwise, changer, "What is a guitar?") == {"Why does my guitar?", "How can I guitar?"}
    assert {*QUESTION_CHANGES} - {*CHANGES} == {Changer.ask_otherwise}


@pytest.mark.parametrize("change", dict.fromkeys(QUESTION_CHANGES), ids=lambda change: change.__name__)
@pytest.mark.parametrize("text", ["", "a", "?", "dog", "the the", "...  !", "日本 語", TEXTS[0]])
def test_changes_take_any_text_and_leave_it_as_it_was(change, text, changer):
    words = text.split()
    for _ in range(30):
        result = change(changer, words)
        assert result is None or all(isinstance(word, str) for word in result)
        assert words == text.split()


def test_patterns_are_questions_of_an_x():
    assert len(PATTERNS) == len({*PATTERNS}) == 40
    assert all("X" in pattern.split() for pattern in PATTERNS)
    made = [*islice(Changer(TEXTS, NEAR, Random(1)).texts(), 300)]
    assert not any({"X", "Y"} & {*text.rstrip("?").split()} for text in made)


def test_what_is_made_is_new_and_the_same_each_time(monkeypatch):
    monkeypatch.setattr(module, "tested", lambda: {"thedogrunsthroughtheparkeverymorning"})
    monkeypatch.setattr(module, "letters", lambda text: "".join(filter(str.isalnum, text.lower())))
    made = changed_texts(TEXTS, NEAR, 200)
    forms = [module.letters(text) for text in made]
    assert len({*forms}) == 200
    assert not {*forms} & {module.letters(text) for text in TEXTS}
    assert made == changed_texts(TEXTS, NEAR, 200)
    assert changed_texts(TEXTS, NEAR, 50) == made[:50]


def test_a_test_has_none_of_what_is_made(monkeypatch):
    monkeypatch.setattr(module, "tested", set)
    before = changed_texts(TEXTS, NEAR, 30)
    monkeypatch.setattr(module, "tested", lambda: {module.letters(before[0])})
    assert before[0] not in changed_texts(TEXTS, NEAR, 30)


def test_too_much_is_told(monkeypatch):
    monkeypatch.setattr(module, "tested", set)
    monkeypatch.setattr(Changer, "texts", lambda self: cycle(["a dog", "A dog!"]))
    with pytest.raises(BadInput, match="only 1 of 5 texts could be made by changing 5 texts"):
        changed_texts(TEXTS, NEAR, 5)


def test_words_near_a_word():
    words = ["dog", "cat", "park", "garden"]
    vectors = np.array([[0.9, 0.1], [1, 0], [0, 1], [0.1, 0.9]], np.float32)
    near = near_words(words, vectors)
    assert [near[word][0] for word in words] == ["cat", "dog", "garden", "park"]
    assert near["dog"] == ["cat", "garden", "park"]
    many = near_words([*map(str, range(30))], np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32))
    assert all(len({*near} - {word}) == NUMBER for word, near in many.items())


def test_content_words_are_told_from_others():
    assert content_words(["The", "(Dog)", "is", "at", "my", "side"]) == [1, 5]
    assert bare("“Dog!”") == "dog"
    assert all(word == bare(word) for word in FUNCTION_WORDS)
