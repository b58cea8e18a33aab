"""Indexes that need no server keep the promises of every index."""

from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.search.backends.memory_index import MemoryIndex
from likewise.search.indexes import INDEXES, create_index, opened_or_created
from tests.search.conformance import (
    WIDTH,
    DurabilityPromises,
    IndexPromises,
    Place,
    index,  # noqa: F401, a fixture
    some_records,
)


def test_faiss_counts_and_lists_nothing_of_another_thread_s_unfinished_call(tmp_path):
    pytest.importorskip("faiss")
    index_class = INDEXES["faiss"].index_class()
    with index_class.create(f"faiss:{tmp_path / 'index'}", 4) as faiss, ThreadPoolExecutor(2) as threads:
        with faiss._transaction(writing=True) as file:
            file.execute("INSERT INTO records (id, metadata, length, vector) VALUES ('a', '{}', 1, zeroblob(16))")
            reads = [threads.submit(faiss.count), threads.submit(lambda: len([*faiss.records()]))]
            assert not wait(reads, timeout=0.2).done
            file.execute("DELETE FROM records")
        assert [read.result() for read in reads] == [0, 0]


@pytest.fixture
def faiss_index(tmp_path):
    pytest.importorskip("faiss")
    with create_index(f"faiss:{tmp_path / 'index'}", WIDTH) as opened:
        opened.add(some_records(5))
        yield opened


def test_a_faiss_index_is_neither_made_beside_other_files_nor_opened_from_another_one(tmp_path):
    index_class = pytest.importorskip("likewise.search.backends.faiss_index").FaissIndex
    (tmp_path / "notes.txt").touch()
    with pytest.raises(BadInput, match="already exists; expected a new or an empty folder"):
        index_class.create(f"faiss:{tmp_path}", WIDTH)
    (tmp_path / "records.sqlite").write_bytes(b"not a database" * 1000)
    with pytest.raises(BadInput, match=r"records\.sqlite cannot be opened: file is not a database"):
        index_class.open(f"faiss:{tmp_path}")


@pytest.mark.usefixtures("unchecked")
def test_faiss_reports_the_errors_of_its_file(faiss_index):
    faiss_index._file.execute("DROP TABLE records")
    with pytest.raises(BadInput, match="no such table: records; nothing from this call was stored"):
        faiss_index.count()


@pytest.mark.usefixtures("unchecked")
def test_faiss_starts_over_after_an_interrupted_update_in_blocks_of_any_size(faiss_index, monkeypatch):
    queries = np.ones((1, WIDTH), np.float32)
    expected = faiss_index.search(queries)
    faiss_index._version, faiss_index._positions = None, faiss_index._positions[:2]
    monkeypatch.setattr("likewise.search.backends.faiss_index.LOAD_BLOCK", 2)
    assert faiss_index.search(queries) == expected and faiss_index._rows.ntotal == 5


@pytest.mark.parametrize("name", ["faiss", "memory"])
def test_a_location_without_its_scheme_is_refused(name, tmp_path):
    if name == "faiss":
        pytest.importorskip("faiss")
    with pytest.raises(BadInput, match=f"the location of a {name} index is '.*'; expected {name}:"):
        INDEXES[name].index_class().create(str(tmp_path / "index"), WIDTH)


def test_an_index_is_opened_or_created_unless_it_is_of_another_width_or_is_something_else(tmp_path):
    location = str(tmp_path / "index")
    for _ in range(2):
        opened_or_created(location, WIDTH, None).close()
    with pytest.raises(BadInput, match=f"index has vectors of {WIDTH} dimensions; got 3"):
        opened_or_created(location, 3, None)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(BadInput, match="is not a collection; expected a folder with"):
        opened_or_created(str(tmp_path), WIDTH, None)


def place_of(name, tmp_path):
    kind = INDEXES[name]
    location = f"{kind.scheme}{tmp_path / 'index'}"
    yield Place(kind, location)
    MemoryIndex.discard(location)


@pytest.mark.usefixtures("unchecked")
class TestEmbedded(IndexPromises):
    @pytest.fixture(params=["collection", "memory", "faiss"])
    def place(self, request, tmp_path):
        yield from place_of(request.param, tmp_path)


@pytest.mark.usefixtures("unchecked")
class TestDurable(DurabilityPromises):
    @pytest.fixture(params=["collection", "faiss"])
    def place(self, request, tmp_path):
        yield from place_of(request.param, tmp_path)
