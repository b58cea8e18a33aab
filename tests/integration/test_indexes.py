"""Every index that needs a package or a server keeps the promises of every index: `make integration`."""

import pytest

from likewise.search.indexes import INDEXES
from tests.search.conformance import DurabilityPromises, IndexPromises, Place, index  # noqa: F401, a fixture

KINDS = ["faiss", "pgvector", "pgvector-hnsw", "milvus", "milvus-hnsw"]


@pytest.fixture(params=KINDS)
def place(request, tmp_path, fresh_name):
    name, _, option = request.param.partition("-")
    kind = INDEXES[name]
    if name == "faiss":
        return Place(kind, f"{kind.scheme}{tmp_path / 'index'}", 1e-5)
    server = request.getfixturevalue({"pgvector": "postgres", "milvus": "milvus"}[name])
    mark = "&" if name == "pgvector" else "?"
    return Place(kind, server.location(fresh_name, f"{mark}index={option}" if option else ""), 1e-5)


class TestPromises(IndexPromises):
    """All of them."""


class TestDurability(DurabilityPromises):
    """All of them."""
