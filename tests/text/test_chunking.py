"""Chunks keep to sentences, headings and a number of tokens, and every character of a document is in one."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.text.chunking import Chunk, ChunkSettings, document_sections, split_document

LETTERS = st.sampled_from("ab .\n#-=`~!東\t>")
DOCUMENT = st.one_of(
    st.text(LETTERS, max_size=120),
    st.lists(
        st.sampled_from(["# One", "## Two", "Title\n===", "One two three.", "Four!", "", "```", "- item", "long " * 9]),
        max_size=12,
    ).map("\n".join),
)


def words(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def letters(texts: list[str]) -> list[int]:
    return [len(text) for text in texts]


def parts(text: str, chunks: list[Chunk]) -> list[str]:
    return [text[chunk.start : chunk.stop] for chunk in chunks]


MARKDOWN = """---
title: settings, and no heading
# a comment in them
---

# Animals

Cats sleep a lot. Dogs bark at night. Birds sing.

## Cats ##

### In the house

They sleep. They wake.

Plants
------
```
# a comment in code
```
Trees grow. #hashtag

# Sea

Fish swim.
"""


def test_a_chunk_is_under_the_headings_of_its_section():
    chunks = split_document(MARKDOWN, words, ChunkSettings(100))
    headings = [(), ("Animals",), ("Animals", "Cats", "In the house"), ("Animals", "Plants"), ("Sea",)]
    assert [chunk.headings for chunk in chunks] == headings
    assert parts(MARKDOWN, chunks)[1] == "# Animals\n\nCats sleep a lot. Dogs bark at night. Birds sing."
    assert parts(MARKDOWN, chunks)[2].startswith("## Cats ##") and parts(MARKDOWN, chunks)[3].endswith("#hashtag")


@pytest.mark.parametrize(
    "text",
    ["```\n# code\n```\n---\nText", "~~~ sh\n# code\n~~~\n===\nText", "```\n---\n# code", "````\n```\n~~~~\n# code"],
)
def test_fences_are_no_headings_and_hold_none(text):
    assert [section.headings for section in document_sections(text)] == [()]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("x\n# B\ny", [(), ("B",)]),
        ("   # A\nx\n## B\ny", [("A",), ("A", "B")]),
        ("A\n===\nx\nB\n---\ny\n# C\nz", [("A",), ("A", "B"), ("C",)]),
        ("# A\n---\nx", [("A",)]),
        ("A\n===\n---\nx", [("A",)]),
        ("  ```\n# code\n```\n# A\nx", [(), ("A",)]),
        ("```\n# code\n  ```\n# A\nx", [(), ("A",)]),
    ],
)
def test_a_heading_may_be_indented_or_underlined(text, headings):
    assert [section.headings for section in document_sections(text)] == headings


CUT = {
    "sentences are put together while they fit": (
        "One two. Three four five. Six. Seven eight nine ten.", words, ChunkSettings(6),
        ["One two. Three four five. Six.", "Seven eight nine ten."],
    ),
    "the space between two sentences counts for neither": ("Ab. Cd.", letters, ChunkSettings(6), ["Ab. Cd."]),
    "whole sentences of the chunk before are repeated": (
        "One two. Three. Four five. Six. Seven eight.", words, ChunkSettings(4, overlap=2),
        ["One two. Three.", "Three. Four five. Six.", "Six. Seven eight."],
    ),
    "also where they and the next one fill a chunk": (
        "One two. Three. Four five. Six. Seven eight.", words, ChunkSettings(3, overlap=2),
        ["One two. Three.", "Three. Four five.", "Four five. Six.", "Six. Seven eight."],
    ),
    "fewer of them where the next one is longer": (
        "Aa. Bo. Ci. Dd dd.", words, ChunkSettings(3, overlap=2), ["Aa. Bo. Ci.", "Ci. Dd dd."],
    ),
    "never a part of one": (
        "One two three four. Five six.", words, ChunkSettings(4, overlap=2), ["One two three four.", "Five six."],
    ),
    "only while they fit the overlap": (
        "A a a a. Bo. C c c. D d d. Eh. F f f f f.", words, ChunkSettings(8, overlap=2),
        ["A a a a. Bo. C c c.", "D d d. Eh.", "Eh. F f f f f."],
    ),
    "a sentence that is too long is cut at white space": (
        "a bb ccc dddd eeeee ffffff", words, ChunkSettings(2), ["a bb", "ccc dddd", "eeeee ffffff"],
    ),
    "at the nearest, before": ("a bbbbbbbbbb", letters, ChunkSettings(10), ["a", "bbbbbbbbbb"]),
    "or behind": ("bbbbbbbb aaa", letters, ChunkSettings(8), ["bbbbbbbb", "aaa"]),
    "and a word anywhere": ("x" * 10, letters, ChunkSettings(4), ["xxx", "xxx", "xxxx"]),
    "not at the space before it": ("Ab. " + "X" * 10, letters, ChunkSettings(4), ["Ab.", "XXX", "XXX", "XXXX"]),
    "down to its letters": ("ab", letters, ChunkSettings(1), ["a", "b"]),
    "even where a letter alone is too long": (
        "ab c", lambda texts: [3 * len(text) for text in texts], ChunkSettings(2), ["a", "b", "c"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CUT)
def test_a_document_is_cut_between_sentences(name):
    text, count, settings, chunks = CUT[name]
    assert parts(text, split_document(text, count, settings)) == chunks


def test_a_sentence_far_too_long_is_counted_a_few_times_only():
    counted = []

    def count(texts):
        counted.extend(texts)
        return words(texts)

    text = "cat " * 20_000
    found = split_document(text, count, ChunkSettings(10))
    assert len(parts(text, found)) >= 2000
    assert sum(len(part) for part in counted) < 3 * len(text)


def test_headings_are_text_where_they_are_not_asked_for():
    [chunk] = split_document("# One\nTwo", words, ChunkSettings(9, headings=False))
    assert chunk == Chunk(0, 9)
    chunks = split_document("One two. Three", words, ChunkSettings(2, headings=False))
    assert chunks == [Chunk(0, 8), Chunk(9, 14)]


def test_a_chunk_has_at_most_200_tokens_unless_asked_for_others():
    assert ChunkSettings() == ChunkSettings(200, 0, True)
    text = "One. " * 250
    assert words(parts(text, split_document(text, words))) == [200, 50]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_document_without_text_has_no_chunk(text):
    assert split_document(text, words) == []


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (4, 4), (4, -1), (2.0, 0)])
def test_sizes_that_cannot_be_are_refused(size, overlap):
    with pytest.raises(BadInput, match="size|overlap"):
        ChunkSettings(size, overlap)


@given(DOCUMENT, st.integers(1, 12), st.integers(0, 11), st.booleans(), st.sampled_from([words, letters]))
def test_every_character_is_in_a_chunk_and_no_chunk_is_too_long(text, size, overlap, headings, count):
    settings = ChunkSettings(size, min(overlap, size - 1), headings)
    chunks = split_document(text, count, settings)
    covered = {place for chunk in chunks for place in range(chunk.start, chunk.stop)}
    assert {place for place, character in enumerate(text) if not character.isspace()} <= covered
    assert all(part and part == part.strip() for part in parts(text, chunks))
    starts, stops = [chunk.start for chunk in chunks], [chunk.stop for chunk in chunks]
    assert starts == sorted(set(starts)) and stops == sorted(set(stops))
    if count is words:
        assert all(len(part.split()) <= size for part in parts(text, chunks))


@given(DOCUMENT, st.integers(1, 12), st.integers(1, 11))
def test_neighbours_share_no_more_than_the_overlap(text, size, overlap):
    settings = ChunkSettings(size, min(overlap, size - 1))
    chunks = split_document(text, words, settings)
    for one, following in pairwise(chunks):
        assert len(text[following.start : one.stop].split()) <= settings.overlap
        assert one.headings == following.headings or following.start >= one.stop


@given(DOCUMENT)
def test_sections_are_the_document_cut_at_headings(text):
    sections = document_sections(text)
    assert "".join(text[section.start : section.stop] for section in sections) == text
    assert all(section.start <= section.body <= section.stop for section in sections)


def test_long_lines_of_marks_take_no_longer_than_reading_them():
    text = "#" + " " * 200_000 + "x\n" + "-" * 200_000 + "x\n" + "`" * 100_000
    assert len(split_document(text, words, ChunkSettings(50))) >= 1
