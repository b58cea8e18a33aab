"""Titles and headings are embedded before a passage, and stored beside it."""

import numpy as np
import pytest

from likewise import Embedder, TextIndex
from likewise.errors import BadInput
from likewise.files.documents import Document, read_documents
from likewise.search.backends.memory_index import MemoryIndex
from likewise.search.index import ModelIdentity
from likewise.search.texts.passages import embedded_text

PAGE = "# Pets\n\nAll of them.\n\n## Cats\n\nThey sleep.\n\n## Dogs\n\nThey bark.\n"


@pytest.fixture
def embedder(folders):
    return Embedder.load(folders("bert"), engine="numpy")


@pytest.fixture
def location():
    yield "memory:headings"
    MemoryIndex.discard("memory:headings")


@pytest.mark.parametrize(
    ("text", "metadata", "embedded"),
    [
        ("They sleep.", {}, "They sleep."),
        ("They sleep.", {"title": "Pets", "headings": "Pets > Cats"}, "Pets > Cats: They sleep."),
        ("## Cats\n\nThey sleep.", {"headings": "Pets > Cats"}, "Pets: ## Cats\n\nThey sleep."),
        ("# Pets\n\nAll.", {"title": "Pets", "headings": "Pets"}, "# Pets\n\nAll."),
        ("They sleep.", {"title": "notes", "file": "/a/notes.md"}, "They sleep."),
        ("They sleep.", {"title": "notes", "file": "/a/notes.csv", "row": 1}, "notes: They sleep."),
        ("They sleep.", {"title": 7, "row": 1}, "They sleep."),
        ("They sleep.", {"title": " ", "headings": None}, "They sleep."),
    ],
)
def test_a_passage_is_embedded_behind_what_it_stands_under_and_does_not_say_itself(text, metadata, embedded):
    assert embedded_text(text, metadata) == embedded


def test_the_vector_knows_the_headings_and_the_stored_text_and_offsets_are_the_passage_s(embedder, location, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    with TextIndex.open(location, embedder) as index:
        assert index.headings and index.index.model.headings
        index.add(read_documents([str(path)]))
        found = next(index.index.records())
    assert found.texts == ["# Pets\n\nAll of them.", "## Cats\n\nThey sleep.", "## Dogs\n\nThey bark."]
    assert [PAGE[row["start"] : row["stop"]] for row in found.metadata] == found.texts
    before = ["", "Pets: ", "Pets: "]
    expected = embedder.encode([title + text for title, text in zip(before, found.texts, strict=True)])
    np.testing.assert_allclose(found.vectors, expected, atol=1e-6)


def test_a_passage_under_another_heading_is_embedded_again(embedder, location, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    with TextIndex.open(location, embedder) as index:
        index.add(read_documents([str(path)]))
        path.write_text(PAGE.replace("# Pets", "# Animals", 1))
        report = index.add(read_documents([str(path)]))
        assert (report.added, report.deleted, report.unchanged) == (3, 3, 0)


def test_without_headings_the_text_alone_is_embedded(embedder, location):
    with TextIndex.open(location, embedder, headings=False) as index:
        index.add([Document("They sleep.", "/a.csv", "Cats", row=1)])
        found = next(index.index.records())
    np.testing.assert_allclose(found.vectors, embedder.encode(["They sleep."]), atol=1e-6)


def test_the_other_setting_is_refused_and_both_are_named(embedder, location):
    TextIndex.open(location, embedder).close()
    with pytest.raises(
        BadInput, match="embedded with their titles and headings, and new ones would be embedded without"
    ):
        TextIndex.open(location, embedder, headings=False)
    assert TextIndex.open(location, embedder, headings=True).headings


def test_headings_are_true_or_false_also_for_a_new_index(embedder, location):
    with pytest.raises(BadInput, match="headings is 'yes'; expected True, False, or None"):
        TextIndex.open(location, embedder, headings="yes")
    with pytest.raises(BadInput):
        TextIndex.open(location, read_only=True)


def test_an_index_that_was_made_before_there_was_the_setting_goes_on_without(embedder):
    old = {"name": "m", "fingerprint": embedder.fingerprint, "prompts": []}
    assert not ModelIdentity.from_json(old).headings
    assert ModelIdentity.from_json(ModelIdentity("m", "f", (), True).as_json()).headings


def test_nothing_of_a_passage_is_cut_off_by_its_headings(embedder, location):
    """The model reads 64 tokens: the last word still counts behind a title of 40."""
    words = " ".join(["cat"] * 50)
    rows = [Document(f"{words} {last}", "/a.csv", "dog " * 40, row=i) for i, last in enumerate(("sleeps", "barks"), 1)]
    with TextIndex.open(location, embedder) as index:
        index.add(rows)
        first, second = next(index.index.records()).vectors
    assert np.abs(first - second).max() > 1e-4
