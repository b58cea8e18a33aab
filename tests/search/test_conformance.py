"""Indexes that need no server keep the promises of every index."""

import pytest

from likewise.search.backends.memory_index import MemoryIndex
from likewise.search.indexes import INDEXES
from tests.search.conformance import DurabilityPromises, IndexPromises, Place, index  # noqa: F401, a fixture


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
