"""MilvusIndex: an index as a collection of a Milvus server or cluster [extra: milvus].

    MilvusIndex.create("milvus://user:password@host:19530/database#passages", width=384)

Exact by default; `?index=hnsw` before the # keeps an approximate index (HNSW). What was added is seen at once, by all
(consistency level Strong). Milvus has no transactions: a call is one request, and repeating a call is harmless.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped

from ....errors import BadInput
from ....runtime.arguments import whole_number
from ...exact import checked_queries
from ...filters import named_columns, parse_filter
from ...index import Index, Match, ModelIdentity
from ...records import Records, check_ids, checked_records
from ..conversions import as_matches
from ..refusals import check_new, check_not_read_only, found_in_order, id_list, unknown_filter_column
from ..server_address import ServerAddress
from . import milvus_collection as collection
from .milvus_calls import OPTIONS, SCHEME, MilvusCalls
from .milvus_filters import milvus_expression, milvus_has_column, milvus_literal

MAX_K = 16_384
"""The most that Milvus returns of one search."""
ID_BLOCK = 1000  # ids in one expression
EF = 100
"""Candidates that HNSW keeps while it searches; 2k where that is more."""


class MilvusIndex(Index):
    """A collection of records, and a row in the collection `likewise_indexes` that describes it."""

    def __init__(self, address: ServerAddress, calls: MilvusCalls, description: Any, *, read_only: bool) -> None:
        self.location, self._name, self._calls = address.shown, address.table, calls
        self.width, self.kind, self._read_only = description["width"], description["kind"], read_only
        self.model = None if description["model"] is None else ModelIdentity.from_json(description["model"])

    @classmethod
    def create(cls, location: str, width: int, model: ModelIdentity | None = None) -> "MilvusIndex":
        """Make the collection, and describe it."""
        address = ServerAddress.parse(location, SCHEME, OPTIONS)
        described = None if model is None else model.as_json()
        kind = address.options.get("index", "exact")
        description = {"width": collection.milvus_width(width), "kind": kind, "model": described}
        calls = MilvusCalls(address)
        collection.create(calls, address, description)
        return cls(address, calls, description, read_only=False)

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "MilvusIndex":
        """Open a collection that `create` made."""
        address = ServerAddress.parse(location, SCHEME, OPTIONS)
        calls = MilvusCalls(address)
        description = collection.milvus_description(calls, address.table)
        if description is None or address.options.get("index", description["kind"]) != description["kind"]:
            calls.close()
            found = "none there" if description is None else f"index={description['kind']}"
            raise BadInput(f"{address.shown}: expected an index that `create` made from this location; found {found}")
        return cls(address, calls, description, read_only=read_only)

    def add(self, records: Records) -> None:
        """Store new records: their ids are looked up first, then they are stored in one request."""
        rows = self._rows(records)
        check_new(self._existing(records.ids), self.location)
        self._store(rows)

    def upsert(self, records: Records) -> None:
        """Store records, and replace those of the same ids, in one request."""
        self._store(self._rows(records))

    def delete(self, ids: Sequence[str]) -> int:
        """Delete by id, in one request."""
        check_ids(ids)
        check_not_read_only(self.location, self._read_only)
        existing = self._existing(ids)
        if existing:
            self._calls("delete", self._name, filter=_among(existing))
        return len(existing)

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """The greatest inner products of rows of length 1."""
        rows, k = checked_queries(queries, self.width), whole_number("k", k)
        if k > MAX_K:
            raise BadInput(f"k is {k:,}; Milvus returns at most {MAX_K:,} of one search")
        expression = self._expression(where)
        if not len(rows):
            return []
        parameters = {"ef": max(EF, 2 * k)} if self.kind == "hnsw" else {}
        options = {"metric_type": "IP", "params": parameters}
        found = self._calls("search", self._name, data=list(rows), limit=k, filter=expression, search_params=options)
        return [as_matches((hit["id"], hit["distance"]) for hit in hits) for hits in found]

    def get(self, ids: Sequence[str]) -> Records:
        """The records with these ids."""
        names = id_list(ids)
        found = {row["id"]: row for row in self._with_ids(names, collection.FIELDS)}
        return collection.records_of_rows(found_in_order(names, found, self.location), self.width)

    def records(self, block: int = 1000) -> Iterator[Records]:
        """All records, in the order of their ids."""
        for page in self._calls.pages(self._name, whole_number("block", block), collection.FIELDS):
            yield collection.records_of_rows(page, self.width)

    def count(self, where: str | None = None) -> int:
        """How many records there are, or how many pass the filter."""
        rows = self._calls("query", self._name, filter=self._expression(where), output_fields=["count(*)"])
        return int(rows[0]["count(*)"])

    def close(self) -> None:
        """Close the connection."""
        self._calls.close()

    def _expression(self, where: str | None) -> str:
        """The filter in Milvus' language; "" passes all.

        Raises:
            BadInput: it cannot be read, or names a column that no record has.
        """
        if where is None:
            return ""
        condition = parse_filter(where)
        for name in named_columns(condition):
            if not self._calls("query", self._name, filter=milvus_has_column(name), output_fields=["id"], limit=1):
                raise unknown_filter_column(name, self.location)
        return milvus_expression(condition)

    def _existing(self, ids: Sequence[str]) -> list[str]:
        return [row["id"] for row in self._with_ids(ids, ["id"])]

    def _with_ids(self, ids: Sequence[str], fields: list[str]) -> Iterator[Any]:
        for start in range(0, len(ids), ID_BLOCK):
            some = _among(ids[start : start + ID_BLOCK])
            yield from self._calls("query", self._name, filter=some, output_fields=fields)

    def _rows(self, records: Records) -> list[dict[str, Any]]:
        check_not_read_only(self.location, self._read_only)
        return collection.milvus_rows(checked_records(records, self.width))

    def _store(self, rows: list[dict[str, Any]]) -> None:
        if rows:
            self._calls("upsert", self._name, rows)


def _among(ids: Sequence[str]) -> str:
    return f"id in [{', '.join(map(milvus_literal, ids))}]"
