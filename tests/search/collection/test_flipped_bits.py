"""A bit that changed on the disk, anywhere in a collection, is noticed: what verify() calls clean answers as before."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.search.collection import Collection
from likewise.search.collection.derived_files import HEADER_BYTES, map_arrays, write_arrays
from tests.search.conformance import WIDTH, some_records

pytestmark = pytest.mark.usefixtures("unchecked")
WHERE = "year >= 2010"


@pytest.fixture(scope="module")
def damaged_copy(tmp_path_factory):
    """A function from a file's name and a place to a copy of a small collection with one bit changed there."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("likewise.search.collection") and hasattr(module, "SEGMENT_ROWS"):
                patch.setattr(module, "SEGMENT_ROWS", 16)
        folder = tmp_path_factory.mktemp("flips") / "collection"
        with Collection.create(str(folder), WIDTH) as collection:
            collection.add(some_records(40))
            collection.delete(["id 3"])
            expected = answers(collection)

        def flipped(name: str, place: int) -> Collection:
            copy = folder.with_name("copy")
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder, copy)
            flip(copy / name, place, place % 8)
            return Collection.open(str(copy))

        flipped.folder, flipped.expected = folder, expected
        yield flipped


def flip(path: Path, place: int, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def answers(collection: Collection) -> list:
    """What every kind of reading gives."""
    blocks = list(collection.records())
    return [
        [row for block in blocks for row in zip(block.ids, block.texts, block.metadata, strict=True)],
        np.concatenate([block.vectors for block in blocks]).tolist(),
        [collection.count(), collection.count(WHERE), collection.count("lang = 'en'")],
        sorted(match.id for match in collection.search_words("text", 99)),
        [match.id for match in collection.search(np.ones((1, WIDTH), np.float32), 99)[0]],
    ]


def check(damaged_copy, name: str, place: int) -> None:
    """Nothing but BadInput is raised, a difference is noticed, and what was repaired is clean."""
    try:
        collection = damaged_copy(name, place)
    except BadInput:
        return
    with collection:
        try:
            noticed = answers(collection) == damaged_copy.expected
        except BadInput:
            noticed = False
        try:
            clean = collection.verify().is_clean
        except BadInput:
            clean = False
        assert noticed or not clean, f"{name} has another bit at {place}, and verify() calls it clean"
        if not clean:
            try:
                collection.repair()
            except BadInput:
                return
            assert collection.verify().is_clean and answers(collection)


@pytest.mark.parametrize(
    ("name", "step"), [("collection.sqlite", 397), ("vectors/00000001.rows", 11), ("derived/00000001.columns", 97)]
)
def test_a_flipped_bit_is_noticed_and_repaired_or_refused(damaged_copy, name, step):
    for place in range(step // 2, (damaged_copy.folder / name).stat().st_size, step):
        check(damaged_copy, name, place)


def test_the_beginnings_of_a_segment_and_of_the_journal_count(damaged_copy):
    for place in range(0, 64, 3):
        check(damaged_copy, "vectors/00000002.rows", place)
    for place in range(0, 100, 3):
        check(damaged_copy, "collection.sqlite", place)


def test_no_bit_of_a_derived_file_changes_unnoticed(tmp_path):
    path, copy = tmp_path / "a" / "00000001.columns", tmp_path / "b" / "00000001.columns"
    arrays = {"rows": np.array(3), "codes x": np.array([0, 1, 2], np.uint8), "values x": np.frombuffer(b"[1, 2]", "u1")}
    path.parent.mkdir()
    copy.parent.mkdir()
    write_arrays(path, arrays)
    for name, array in map_arrays(path).items():
        np.testing.assert_array_equal(array, arrays[name])
    content = path.read_bytes()
    assert len(content) == HEADER_BYTES + 3 * 64
    places = [(place, bit) for place in range(len(content)) for bit in (range(8) if place < 24 else [place % 8])]
    copy.write_bytes(content)
    with copy.open("r+b", buffering=0) as file:
        for place, bit in places:
            os.pwrite(file.fileno(), bytes([content[place] ^ 1 << bit]), place)
            assert map_arrays(copy) is None, (place, bit)
            os.pwrite(file.fileno(), content[place : place + 1], place)
    copy.write_bytes(content[:-1])
    assert map_arrays(copy) is None
    copy.write_bytes(content)
    assert map_arrays(copy) and map_arrays(copy.rename(copy.with_name("00000002.columns"))) is None


def test_a_derived_file_of_an_earlier_version_is_made_again(damaged_copy):
    folder = damaged_copy.folder.with_name("earlier")
    shutil.copytree(damaged_copy.folder, folder)
    path = folder / "derived" / "00000001.columns"
    content = path.read_bytes()
    path.write_bytes(content[8:].ljust(len(content), b"\0"))  # began with the length of its description
    with Collection.open(str(folder)) as collection:
        assert collection.verify().stale == ["derived/00000001.columns"]
        assert [collection.count(), collection.count(WHERE)] == damaged_copy.expected[2][:2]
        assert not collection.verify().stale and path.read_bytes() == content
