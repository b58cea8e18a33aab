"""INDEXES: the table of all kinds of index and their location schemes. Classes are imported when they are used."""

from dataclasses import dataclass
from importlib import import_module
from typing import cast

from ..errors import BadInput
from .index import Index, ModelIdentity


@dataclass(frozen=True)
class IndexKind:
    """A kind of index: its class as `module:Class`, its location prefix, and whether it outlives the process."""

    home: str
    scheme: str
    durable: bool = True

    def index_class(self) -> type[Index]:
        module, _, name = self.home.partition(":")
        return cast(type[Index], getattr(import_module(module), name))


INDEXES: dict[str, IndexKind] = {
    "collection": IndexKind("likewise.search.collection:Collection", ""),
    "faiss": IndexKind("likewise.search.backends.faiss_index:FaissIndex", "faiss:"),
    "pgvector": IndexKind("likewise.search.backends.pgvector:PgvectorIndex", "postgresql:"),
    "milvus": IndexKind("likewise.search.backends.milvus:MilvusIndex", "milvus:"),
    "memory": IndexKind("likewise.search.backends.memory_index:MemoryIndex", "memory:", durable=False),
}
"""To add a kind of index, subclass `Index` and add a row; tests/search/conformance.py then tests it like the others."""


def kind_of_location(location: str) -> IndexKind:
    """The kind whose scheme the location begins with; the longest scheme if several match."""
    found = max((row for row in INDEXES.values() if location.startswith(row.scheme)), key=lambda row: len(row.scheme))
    if not found.scheme and "://" in location:
        known = ", ".join(sorted(row.scheme for row in INDEXES.values() if row.scheme))
        raise BadInput(
            f"{location!r} is not an index location; expected a folder, or a location that begins with one of: {known}"
        )
    return found


def create_index(location: str, dimension: int, model: ModelIdentity | None = None) -> Index:
    """Create an index of the kind that the location's scheme names."""
    return kind_of_location(location).index_class().create(location, dimension, model)


def opened_or_created(location: str, dimension: int, model: ModelIdentity | None, like: object = None) -> Index:
    """Open the index at a location for vectors of this model, or create it if it does not exist.

    Args:
        like: the source of the records; if both it and the new index are collections, the data type is copied.
    """
    try:
        index = open_index(location)
    except BadInput as missing:
        try:
            kind = kind_of_location(location)
            same = {"dtype": like.dtype} if kind is INDEXES["collection"] and hasattr(like, "dtype") else {}
            return kind.index_class().create(location, dimension, model, **same)
        except BadInput:
            raise missing from None
    try:
        _check_holds(index, dimension, model)
    except BaseException:
        index.close()
        raise
    return index


def _check_holds(index: Index, dimension: int, model: ModelIdentity | None) -> None:
    if index.dimension != dimension:
        raise BadInput(f"{index.location} has vectors of {index.dimension} dimensions; got {dimension}")
    if model is None or index.model is None:
        return
    index.check_model(model)
    index.check_document_prompt(model.document_prompt)
    index.check_headings(model.headings)


def open_index(location: str, *, read_only: bool = False) -> Index:
    """Open an index of the kind that the location's scheme names."""
    return kind_of_location(location).index_class().open(location, read_only=read_only)
