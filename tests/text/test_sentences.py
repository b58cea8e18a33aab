"""Sentences end where a reader would end them, in the languages that mark it; nothing but white space is lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.text.sentences import ABBREVIATIONS, sentence_spans, trim

PROSE = st.text(st.sampled_from("aB1 .!?…\n\t-*\"')。？।؟é東\u2028"), max_size=60)


def sentences(text: str) -> list[str]:
    return [text[start:stop] for start, stop in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He came. She went! Why? Because…", ["He came.", "She went!", "Why?", "Because…"]),
        ("Dr. Smith met J. R. R. Tolkien at 5 p.m. in Leeds.", ["Dr. Smith met J. R. R. Tolkien at 5 p.m. in Leeds."]),
        ('"Really?" she asked. "Yes."', ['"Really?" she asked.', '"Yes."']),
        ("It costs 3.50 euros, i.e. much. 7 were sold.", ["It costs 3.50 euros, i.e. much.", "7 were sold."]),
        ("So did I. They left.", ["So did I.", "They left."]),
        (f"Done.{' ' * 90}by them.{' ' * 90}Yes.", [f"Done.{' ' * 90}by them.", "Yes."]),
        ("A title\n\nIts text goes\non here.", ["A title", "Its text goes\non here."]),
        ("Bring:\n- one\n- two\n2) three", ["Bring:", "- one", "- two", "2) three"]),
        ("你好。你在哪里？我在这里！", ["你好。", "你在哪里？", "我在这里！"]),
        ("वह आया। वह गया।", ["वह आया।", "वह गया।"]),
        ("هل جاء؟ نعم جاء۔", ["هل جاء؟", "نعم جاء۔"]),
        ("Он пришёл. Она ушла.", ["Он пришёл.", "Она ушла."]),
        ("He said (at last.) Then he left. »", ["He said (at last.)", "Then he left. »"]),
        ("She did (twice). He left.\n\nB", ["She did (twice).", "He left.", "B"]),
        ("你好。 —。我在。", ["你好。 —。", "我在。"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_a_sentence_ends_where_a_reader_would_end_it(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize("word", sorted(ABBREVIATIONS))
def test_no_sentence_ends_behind_a_known_abbreviation(word):
    assert len(sentences(f"As {word}. Two says. Three.")) == 2


@given(PROSE)
def test_sentences_are_in_order_apart_and_lose_nothing_but_white_space(text):
    spans = sentence_spans(text)
    assert spans == sorted(spans) and all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(text[start:stop] and text[start:stop] == text[start:stop].strip() for start, stop in spans)
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(PROSE, st.integers(0, 60), st.integers(0, 60))
def test_a_trimmed_span_is_the_stripped_text(text, first, second):
    start, stop = min(first, second, len(text)), min(max(first, second), len(text))
    a, b = trim(text, start, stop)
    assert text[a:b] == text[start:stop].strip() and start <= a <= b <= max(stop, a)


def test_long_runs_of_punctuation_take_no_longer_than_reading_them():
    text = "." * 200_000 + "x" + "\n " * 100_000 + "!" * 200_000
    assert "".join(sentences(text)).count(".") == 200_000
