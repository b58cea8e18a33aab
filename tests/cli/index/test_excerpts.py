"""The excerpt is the part of a passage where the words of the query stand."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.cli import terminal_tables
from likewise.cli.index.search import best_excerpt, marked, query_words, show_passages, shown_excerpt, word_spans
from likewise.search.texts.passages import Passage

TEXT = st.lists(st.sampled_from(["cat", "dog", "sleeps", "a", "·", "verylongword" * 3]), max_size=30).map(" ".join)


def test_the_words_of_the_query_are_marked(monkeypatch):
    monkeypatch.setattr(terminal_tables, "shows_colours", lambda: True)
    shown = marked("The Cat sleeps. The dog, too.", query_words("how long do cat sleeps"))
    assert shown == "The \x1b[1;32mCat\x1b[0m \x1b[1;32msleeps\x1b[0m. The dog, too."


def test_short_words_are_marked_only_where_there_are_no_others():
    assert query_words("go to the gym") == {"the", "gym"}
    assert query_words("to be") == {"to", "be"}


def test_a_long_passage_is_shown_where_most_different_words_stand():
    text = "cat " * 30 + "filler " * 20 + "the cat sleeps near a dog " + "filler " * 20
    shown = shown_excerpt(text, query_words("cat sleeps dog"), 60)
    assert "cat sleeps near a dog" in shown and shown.startswith("…") and shown.endswith("…") and len(shown) <= 60


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (3, "…c…"),
        (12, "…cat sleeps…"),
        (24, "…the cat sleeps well …"),
        (40, "…two three the cat sleeps well at night…"),
        (56, "…one two three the cat sleeps well at night every d…"),
        (57, "zero one two three the cat sleeps well at night every day"),
    ],
)
def test_an_excerpt_has_the_words_in_its_middle_and_begins_with_a_whole_word(size, shown):
    text = "zero one two three the cat sleeps well at night every day"
    assert shown_excerpt(text, query_words("cat sleeps"), size) == shown


def test_without_the_words_an_excerpt_is_the_beginning_and_among_equals_the_first():
    assert [shown_excerpt("abcdef", frozenset(), size) for size in (0, 3, 4, 6)] == ["a…", "a…", "ab…", "abcdef"]
    assert shown_excerpt("a cat 1 and a cat 2", query_words("cat"), 11) == "a cat 1 a…"
    assert shown_excerpt("zero one two three the cat sleeps well", query_words("cat"), 15) == "…the cat slee…"
    assert shown_excerpt("zero one two three the cat", query_words("cat"), 15) == "…three the cat"
    assert shown_excerpt("cat cat filler cat bat", query_words("cat bat"), 9) == "…cat bat"
    assert shown_excerpt("cat, cat filler cat bat", query_words("cat bat"), 10) == "…cat bat"


def test_passages_fit_the_terminal(monkeypatch, capsys):
    passages = [
        Passage("k1", "the cat  sleeps " * 30, {"row": 7, "title": "Cats", "headings": "Cats"}, {"cosine": 0.5}),
        Passage("word " * 5, "short", {"start": 3, "stop": 8}, {"cosine": 0.25, "p": 0.0123}),
    ]
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show_passages(passages, "a cat")
    assert capsys.readouterr().out.splitlines() == [
        " 0.5000  k1, row 7 · Cats",
        "    the cat sleeps the cat sleeps the",
        "    cat sleeps the cat sleeps the cat",
        "    sleeps the cat sleeps the cat sleeps",
        "    t…",
        " 0.2500  p=1e-02  word word word word w…",
        "    short",
    ]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    show_passages(passages, "a cat")
    assert capsys.readouterr().out.splitlines() == [
        " 0.5000  k1, row 7 · Cats",
        " ".join(["the cat sleeps"] * 30),
        " 0.2500  p=1e-02  word word word word word , characters 3–8",
        "short",
    ]


@given(TEXT, st.integers(1, 60))
def test_no_excerpt_of_that_size_has_more_different_words(text, size):
    words = query_words("cat dog sleeps")
    start, stop = best_excerpt(text, words, size)
    assert 0 <= start <= stop <= len(text) and stop - start <= size

    def different(begin: int, end: int) -> int:
        return len({text[a:b] for a, b in word_spans(text, words) if begin <= a and b <= end})

    assert different(start, stop) == max(different(i, i + size) for i in range(max(1, len(text))))
