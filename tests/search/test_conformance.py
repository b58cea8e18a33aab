"""Indexes that need no server keep the promises of every index."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from likewise.search.backends.memory_index import MemoryIndex
from likewise.search.indexes import INDEXES
from tests.search.conformance import DurabilityPromises, IndexPromises, Place, index  # noqa: F401, a fixture


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
