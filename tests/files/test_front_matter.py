"""Front matter: names and values of the lines between hyphens, and nothing else taken for it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.files.front_matter import front_matter

FULL = """\
---
title: "Cats: a guide"
# a comment
year: 2024
ratio: 0.5
code: 007
draft: false   # not yet
none: ~
empty:
tags: [pets, 'two words', "a, b", 3]
authors:
  - Ann
  - "Bob"
summary: >-
  Cats sleep
  a lot.
nested:
  a: 1
quoted: "a # b"  # note
single: 'It''s # 1' # note
url: https://example.org/#x
date: 2024-05-01
...
Text
"""


def test_values_are_read_as_they_are_written():
    values, end = front_matter(FULL)
    expected = {"title": "Cats: a guide", "year": 2024, "ratio": 0.5, "code": "007", "draft": False, "none": None}
    expected |= {"empty": None, "tags": ["pets", "two words", "a, b", 3], "authors": ["Ann", "Bob"], "nested": "a: 1"}
    expected |= {"summary": "Cats sleep\na lot.", "url": "https://example.org/#x", "date": "2024-05-01"}
    expected |= {"quoted": "a # b", "single": "It's # 1"}
    assert values == expected
    assert FULL[end:] == "Text\n"


def test_escapes_in_double_quotes_are_characters_and_others_stay():
    lines = [
        'title: "a \\"b\\" \\u00e9"',
        "tags: [\"x \\\"y\\\", z\", 'it''s, w']",
        'path: "C:\\q"',
        'two: "a" and "b"',
    ]
    text = "\n".join(["---", *lines, "---", ""])
    values = {"title": 'a "b" é', "tags": ['x "y", z', "it's, w"], "path": "C:\\q", "two": 'a" and "b'}
    assert front_matter(text)[0] == values


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        *(
            ("[a", "[a"),
            ("a]", "a]"),
            ("[]", []),
            ("[a,, b]", ["a", "b"]),
            ("'", "'"),
            ("''", ""),
            ('"', '"'),
            ('""', ""),
        ),
        *(
            ("'a", "'a"),
            ('"a', '"a'),
            ('a"', 'a"'),
            ("x'a'", "x'a'"),
            ("b\n- c", "b\n- c"),
            ("\n- c\nd", "- c\nd"),
            ("\n- c # d\n- '#'", ["c", "#"]),
        ),
        *(("|2-\n a", "a"), (">\n a\n\n b", "a\nb"), ("|abc\n a", "|abc\na"), ("|abc", "|abc"), ("a #b #c", "a")),
        *(("NULL", None), ("True", True), ("123456789012345678", 123456789012345678), ("1" * 19, "1" * 19), ("-0", 0)),
        *(("1.5e3", 1500.0), ("-0.5", -0.5), ("1.0e999", "1.0e999"), ("01.5", "01.5"), ("\u0663", "\u0663")),
    ],
)
def test_a_value_is_read_as_yaml_reads_it_or_stays_a_text(lines, value):
    found, _ = front_matter(f"---\nname: {lines}\n---\n")
    assert repr(found) == repr({"name": value})


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_marks_and_line_breaks_of_any_kind_are_passed_over(line_break):
    text = "\ufeff---  \na: b\n---\nText".replace("\n", line_break)
    values, end = front_matter(text)
    assert values == {"a": "b"} and text[end:] == "Text"
    assert front_matter("---\n---\nText") == ({}, 8)


@pytest.mark.parametrize(
    "text",
    ["", "Text", "---\na: b\nno end", "---\n\nA rule.\n\n---\n", "----\na: b\n---\n", " ---\na: b\n---\n", "- a: b\n"],
)
def test_what_is_no_front_matter_is_text(text):
    assert front_matter(text) == ({}, 0)


@given(st.text(st.sampled_from("ab:-#[]'\", \n\t|>{}"), max_size=60))
def test_any_text_can_stand_there(text):
    values, end = front_matter(f"---\n{text}\n---\n")
    assert 0 <= end <= len(text) + 9 and json.dumps(values)


SCALARS = st.one_of(
    st.integers(-(10**17), 10**17), st.booleans(), st.text("abc xyz", min_size=1).map(str.strip).filter(bool)
)


@given(st.dictionaries(st.text("abc", min_size=1), st.one_of(SCALARS, st.lists(SCALARS, min_size=1)), min_size=1))
def test_what_is_written_is_read(values):
    lines = [f"{name}: {json.dumps(value)}" for name, value in values.items()]
    assert front_matter("---\n" + "\n".join(lines) + "\n---\n")[0] == values


@pytest.mark.parametrize(
    "part", ["a" * 200_000, " " * 200_000, "a: [" + "'" * 100_000 + "]", "a: [" + " " * 100_000 + "]", "a:\n" * 50_000]
)
def test_long_lines_take_no_longer_than_their_length(part):
    front_matter(f"---\n{part}\n---\n")
