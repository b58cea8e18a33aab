"""MilvusIndex: an index stored as a collection on a Milvus server or cluster [extra: milvus].

    MilvusIndex.create("milvus://user:password@host:19530/database#passages", dimension=384)

Search is exact by default; `?index=hnsw` before the # creates an approximate index (HNSW). Added records are
immediately visible to all clients (consistency level Strong). Milvus has no transactions; each call is a single request
that can be repeated safely.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from ...array_types import Shaped
from ...errors import BadInput, LikewiseError, ServerUnavailable
from ...runtime.arguments import found_in_order, whole_number
from ...runtime.installation import missing_extra
from ..exact import checked_queries
from ..filters.languages import FIELD, milvus_expression, milvus_has_column, milvus_literal, values_by_kind
from ..index import Index, Match, ModelIdentity
from ..records import Records, check_ids, checked_records, listed_ids
from .common import (
    ServerAddress,
    as_matches,
    check_new,
    check_not_read_only,
    checked_filter,
    metadata_json,
    retried,
    stored_columns,
    stored_records,
)

try:
    import grpc
    from pymilvus import DataType, MilvusClient, MilvusException
except ImportError:
    raise missing_extra("pymilvus", "milvus", "an index in Milvus") from None

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # pymilvus prints a traceback for every error that it raises

TIMEOUT = 30.0
"""Timeout of one call, in seconds."""
NOT_CONNECTED = 2
"""pymilvus's own error code for a failed connection."""
NOT_LOADED = 101
"""The server's error code for a collection that is not loaded, for example after a restart."""
SCHEME = "milvus"
OPTIONS = {"index": ("exact", "hnsw"), "secure": ("false", "true")}


class MilvusCalls:
    """A client for one server. Calls must be idempotent, because lost calls are sent again."""

    def __init__(self, address: ServerAddress) -> None:
        self._shown = address.shown
        self._client = self._retried(lambda: MilvusClient(**_parameters(address), timeout=5.0))

    def __call__(self, method: str, *args: Any, **options: Any) -> Any:
        return self._retried(lambda: self._loaded(method, *args, timeout=TIMEOUT, **options))

    def pages(self, collection: str, size: int, fields: list[str]) -> Iterator[list[Any]]:
        """All rows of a collection ordered by id, one page at a time."""
        pages = self("query_iterator", collection, batch_size=size, output_fields=fields, consistency_level="Strong")
        try:
            while page := self._retried(pages.next):
                yield list(page)
        finally:
            pages.close()

    def close(self) -> None:
        self._client.close()

    def _retried(self, call: Callable[[], Any]) -> Any:
        return retried(call, (MilvusException, grpc.RpcError), self._explained)

    def _loaded(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a method; if the collection, its first argument, is not in memory, load it first."""
        try:
            return getattr(self._client, method)(*args, **options)
        except MilvusException as error:
            if error.code != NOT_LOADED:
                raise
        self._client.load_collection(args[0], timeout=TIMEOUT)
        return getattr(self._client, method)(*args, **options)

    def _explained(self, error: Any) -> tuple[LikewiseError, bool]:
        message = " ".join(str(getattr(error, "message", "") or error).split())[:300]
        if isinstance(error, grpc.RpcError) or error.code == NOT_CONNECTED or isinstance(error.code, grpc.StatusCode):
            advice = "A write may or may not have been stored; it is safe to repeat once the server is back"
            return ServerUnavailable(f"{self._shown} cannot be reached: {message}. {advice}"), False
        return BadInput(f"{self._shown}: the server rejected the request: {message}"), True


def _parameters(address: ServerAddress) -> dict[str, str]:
    """The arguments for MilvusClient; a user name without a password is sent as a token, as hosted servers expect."""
    parts = urlsplit(address.url)
    scheme = "https" if address.options.get("secure") == "true" else "http"
    token = ":".join(unquote(part) for part in (parts.username, parts.password) if part)
    found = {"uri": f"{scheme}://{parts.hostname}:{parts.port or 19530}", "token": token, "db_name": parts.path[1:]}
    return {name: value for name, value in found.items() if value}


DIMENSIONS = range(2, 32_769)
"""The dimensions that Milvus supports."""
MAX_BYTES = 65_535
"""The maximum size in bytes of a text, or of metadata as JSON, in Milvus."""
MAX_REQUEST = 48 << 20
"""Maximum bytes in one call: Milvus rejects requests over 64 MB, and cannot store two requests atomically."""
FIELDS = ["id", "text", "metadata", "length", "vector"]
DESCRIPTIONS, DESCRIBED = "likewise_indexes", ("width", "kind", "model")
PARAMETERS: Mapping[str, dict[str, Any]] = {
    "exact": {"index_type": "FLAT"},
    "hnsw": {"index_type": "HNSW", "params": {"M": 16, "efConstruction": 200}},
}


def _create(calls: MilvusCalls, address: ServerAddress, row: tuple[int, str, Any]) -> None:
    """Create the collection, then the row that describes it, which makes it an index."""
    if calls("has_collection", address.table):
        raise address.taken()
    if not calls("has_collection", DESCRIPTIONS):
        _create_collection(calls, DESCRIPTIONS, {"description": DataType.VARCHAR}, DIMENSIONS[0], "exact")
    fields = {"text": DataType.VARCHAR, "metadata": DataType.VARCHAR, FIELD: DataType.JSON, "length": DataType.DOUBLE}
    _create_collection(calls, address.table, fields, row[0], row[1])
    description = json.dumps(dict(zip(DESCRIBED, row, strict=True)))
    calls("upsert", DESCRIPTIONS, [{"id": address.table, "description": description, "vector": [0.0] * DIMENSIONS[0]}])


def _create_collection(calls: MilvusCalls, name: str, fields: Mapping[str, Any], dimension: int, kind: str) -> None:
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=MAX_BYTES)
    for field, kind_of_field in fields.items():
        longest: dict[str, Any] = {"max_length": MAX_BYTES} if kind_of_field is DataType.VARCHAR else {}
        schema.add_field(field, kind_of_field, nullable=field == "text", **longest)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
    index = MilvusClient.prepare_index_params()
    index.add_index("vector", metric_type="IP", **PARAMETERS[kind])
    calls("create_collection", name, schema=schema, index_params=index, consistency_level="Strong")


def _description(calls: MilvusCalls, name: str) -> tuple[int, str, Any] | None:
    """The dimension, kind and model of an index; None if no index has this name."""
    if not calls("has_collection", DESCRIPTIONS) or not calls("has_collection", name):
        return None
    rows = calls("query", DESCRIPTIONS, filter=f"id == {milvus_literal(name)}", output_fields=["description"])
    found = json.loads(rows[0]["description"]) if rows else None
    return found and (found["width"], found["kind"], found["model"])


def _rows(records: Records) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"id": name, "text": text, "metadata": metadata_json(metadata), FIELD: values_by_kind(metadata)}
        | {"length": length, "vector": vector}
        for name, text, metadata, length, vector in stored_columns(records)
    ]
    total = sum(row["vector"].nbytes + _checked_bytes(row) for row in rows)
    if total > MAX_REQUEST:
        raise BadInput(
            f"{len(records):,} records take {total:,} bytes; expected at most {MAX_REQUEST:,} per call, because a call "
            "is stored completely or not at all. Add them in blocks, with `records.blocks(1000)`"
        )
    return rows


def _checked_bytes(row: Mapping[str, Any]) -> int:
    """The size of a row's strings in bytes; raises an error if one is too long."""
    sizes = {field: len((row[field] or "").encode()) for field in ("id", "text", "metadata")}
    for field, size in sizes.items():
        if size > MAX_BYTES:
            raise BadInput(f"the {field} of {row['id']!r:.80} has {size:,} bytes; Milvus stores at most {MAX_BYTES:,}")
    return sum(sizes.values()) + sizes["metadata"]  # the JSON field repeats these values


def _records_of(rows: Iterable[Mapping[str, Any]], dimension: int) -> Records:
    """Convert rows queried with `FIELDS` to records."""
    return stored_records([[row[field] for field in FIELDS] for row in rows], dimension)


MAX_K = 16_384
"""The maximum number of results that Milvus returns per search."""
ID_BLOCK = 1000  # ids in one expression
EF = 100
"""HNSW keeps this many candidates during a search, or 2k, whichever is more."""


class MilvusIndex(Index):
    """A collection of records, described by a row in the collection `likewise_indexes`."""

    def __init__(
        self, address: ServerAddress, calls: MilvusCalls, row: tuple[int, str, Any], *, read_only: bool = False
    ) -> None:
        self.location, self._name, self._calls, self._read_only = address.shown, address.table, calls, read_only
        self.dimension, self.kind = row[0], row[1]
        self.model = None if row[2] is None else ModelIdentity.from_json(row[2])

    @classmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None = None) -> "MilvusIndex":
        address = ServerAddress.parse(location, SCHEME, OPTIONS)
        if whole_number("dimension", dimension) not in DIMENSIONS:
            raise BadInput(f"dimension is {dimension:,}; Milvus supports {DIMENSIONS[0]} to {DIMENSIONS[-1]:,}")
        row = (dimension, address.options.get("index", "exact"), None if model is None else model.as_json())
        calls = MilvusCalls(address)
        _create(calls, address, row)
        return cls(address, calls, row)

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "MilvusIndex":
        address = ServerAddress.parse(location, SCHEME, OPTIONS)
        calls = MilvusCalls(address)
        try:
            row = address.check_created(_description(calls, address.table))
        except BaseException:
            calls.close()
            raise
        return cls(address, calls, row, read_only=read_only)

    def add(self, records: Records) -> None:
        rows = self._checked_rows(records)
        check_new(self._existing(records.ids), self.location)
        self._store(rows)

    def upsert(self, records: Records) -> None:
        self._store(self._checked_rows(records))

    def delete(self, ids: Sequence[str]) -> int:
        check_ids(ids)
        check_not_read_only(self.location, self._read_only)
        existing = self._existing(ids)
        if existing:
            self._calls("delete", self._name, filter=_among(existing))
        return len(existing)

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        rows, k = checked_queries(queries, self.dimension), whole_number("k", k)
        if k > MAX_K:
            raise BadInput(f"k is {k:,}; Milvus returns at most {MAX_K:,} per search")
        expression = self._expression(where)
        if not len(rows):
            return []
        parameters = {"ef": max(EF, 2 * k)} if self.kind == "hnsw" else {}
        options = {"metric_type": "IP", "params": parameters}
        found = self._calls("search", self._name, data=list(rows), limit=k, filter=expression, search_params=options)
        return [as_matches((hit["id"], hit["distance"]) for hit in hits) for hits in found]

    def get(self, ids: Sequence[str]) -> Records:
        names = listed_ids(ids)
        found = {row["id"]: row for row in self._with_ids(names, FIELDS)}
        return _records_of(found_in_order(names, found, self.location), self.dimension)

    def records(self, block: int = 1000) -> Iterator[Records]:
        for page in self._calls.pages(self._name, whole_number("block", block), FIELDS):
            yield _records_of(page, self.dimension)

    def count(self, where: str | None = None) -> int:
        rows = self._calls("query", self._name, filter=self._expression(where), output_fields=["count(*)"])
        return int(rows[0]["count(*)"])

    def close(self) -> None:
        self._calls.close()

    def _expression(self, where: str | None) -> str:
        """The filter as a Milvus expression; "" selects everything."""
        if where is None:
            return ""

        def has_column(name: str) -> Any:
            return self._calls("query", self._name, filter=milvus_has_column(name), output_fields=["id"], limit=1)

        return milvus_expression(checked_filter(where, self.location, has_column))

    def _existing(self, ids: Sequence[str]) -> list[str]:
        return [row["id"] for row in self._with_ids(ids, ["id"])]

    def _with_ids(self, ids: Sequence[str], fields: list[str]) -> Iterator[Any]:
        for start in range(0, len(ids), ID_BLOCK):
            some = _among(ids[start : start + ID_BLOCK])
            yield from self._calls("query", self._name, filter=some, output_fields=fields)

    def _checked_rows(self, records: Records) -> list[dict[str, Any]]:
        check_not_read_only(self.location, self._read_only)
        return _rows(checked_records(records, self.dimension))

    def _store(self, rows: list[dict[str, Any]]) -> None:
        if rows:
            self._calls("upsert", self._name, rows)


def _among(ids: Sequence[str]) -> str:
    return f"id in [{', '.join(map(milvus_literal, ids))}]"
