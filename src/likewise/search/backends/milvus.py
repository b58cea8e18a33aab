"""MilvusIndex: an index as a collection of a Milvus server or cluster [extra: milvus].

    MilvusIndex.create("milvus://user:password@host:19530/database#passages", dimension=384)

Exact by default; `?index=hnsw` before the # keeps an approximate index (HNSW). What was added is seen at once, by all
(consistency level Strong). Milvus has no transactions: a call is one request, and repeating a call is harmless.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from jaxtyping import Shaped

from ...errors import BadInput, ServerUnavailable
from ...runtime.arguments import whole_number
from ...runtime.installation import missing_extra
from ..exact import UnitRows, checked_queries
from ..filters import (
    named_columns,
    parse_filter,
)
from ..filters.languages import FIELD, milvus_expression, milvus_has_column, milvus_literal, values_by_kind
from ..index import Index, Match, ModelIdentity
from ..records import Records, Value, check_ids, checked_records
from .common import (
    ServerAddress,
    as_matches,
    check_new,
    check_not_read_only,
    found_in_order,
    id_list,
    metadata_json,
    unknown_filter_column,
)

try:
    import grpc
    from pymilvus import DataType, MilvusClient, MilvusException
except ImportError:
    raise missing_extra("pymilvus", "milvus", "an index in Milvus") from None

logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it prints a trace of every error that it raises

PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds between attempts to reach the server: 6.3 in all."""
TIMEOUT = 30.0
"""Seconds in which one call must be answered."""
NOT_CONNECTED = 2
"""The code of pymilvus's own error where it could not connect."""
NOT_LOADED = 101
"""The code of a server that has restarted without a collection in memory."""
SCHEME = "milvus"
OPTIONS = {"index": ("exact", "hnsw"), "secure": ("false", "true")}


class MilvusCalls:
    """A client of one server. What is called must be harmless when done twice: a lost call is sent again."""

    def __init__(self, address: ServerAddress) -> None:
        self._shown = address.shown
        self._client = self._retried(lambda: MilvusClient(**_parameters(address), timeout=5.0))

    def __call__(self, method: str, *args: Any, **options: Any) -> Any:
        """The result of a method of MilvusClient."""
        return self._retried(lambda: self._loaded(method, *args, timeout=TIMEOUT, **options))

    def pages(self, collection: str, size: int, fields: list[str]) -> Iterator[list[Any]]:
        """All rows of a collection in the order of their ids, a page at a time."""
        pages = self("query_iterator", collection, batch_size=size, output_fields=fields, consistency_level="Strong")
        try:
            while page := self._retried(pages.next):
                yield list(page)
        finally:
            pages.close()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _retried(self, call: Callable[[], Any]) -> Any:
        """The result of a call, which is repeated after a pause while the server is away."""
        for pause in (*PAUSES, None):
            try:
                return call()
            except (MilvusException, grpc.RpcError) as error:
                explained = self._explained(error)
                if pause is None or isinstance(explained, BadInput):
                    raise explained from None
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _loaded(self, method: str, *args: Any, **options: Any) -> Any:
        """The result of a method; where the collection, its first argument, is not in memory, it is loaded first."""
        try:
            return getattr(self._client, method)(*args, **options)
        except MilvusException as error:
            if error.code != NOT_LOADED:
                raise
        self._client.load_collection(args[0], timeout=TIMEOUT)
        return getattr(self._client, method)(*args, **options)

    def _explained(self, error: Any) -> BadInput | ServerUnavailable:
        message = " ".join(str(getattr(error, "message", "") or error).split())[:300]
        if isinstance(error, grpc.RpcError) or error.code == NOT_CONNECTED or isinstance(error.code, grpc.StatusCode):
            advice = "Whether a write was stored is not known; repeating it is harmless once the server is back"
            return ServerUnavailable(f"{self._shown} cannot be reached: {message}. {advice}")
        return BadInput(f"{self._shown}: the server refused: {message}")


def _parameters(address: ServerAddress) -> dict[str, str]:
    """The arguments of MilvusClient; a user without a password is a token, as hosted servers give them."""
    parts = urlsplit(address.url)
    scheme = "https" if address.options.get("secure") == "true" else "http"
    token = ":".join(unquote(part) for part in (parts.username, parts.password) if part)
    found = {"uri": f"{scheme}://{parts.hostname}:{parts.port or 19530}", "token": token, "db_name": parts.path[1:]}
    return {name: value for name, value in found.items() if value}


DIMENSIONS = range(2, 32_769)
"""The dimensions that Milvus takes."""
MAX_BYTES = 65_535
"""The longest text, and the longest metadata as JSON, that Milvus holds."""
MAX_REQUEST = 48 << 20
"""Bytes of the vectors and texts of one call: Milvus refuses a request of more than 64 MB, and stores no two as one."""
FIELDS = ["id", "text", "metadata", "length", "vector"]
DESCRIPTIONS = "likewise_indexes"
PARAMETERS: Mapping[str, dict[str, Any]] = {
    "exact": {"index_type": "FLAT"},
    "hnsw": {"index_type": "HNSW", "params": {"M": 16, "efConstruction": 200}},
}


def milvus_dimension(dimension: object) -> int:
    """The dimension, if Milvus can hold such vectors."""
    dimension = whole_number("dimension", dimension)
    if dimension not in DIMENSIONS:
        raise BadInput(f"dimension is {dimension:,}; Milvus takes {DIMENSIONS[0]} to {DIMENSIONS[-1]:,}")
    return dimension


def _create(calls: MilvusCalls, address: ServerAddress, description: Mapping[str, Any]) -> None:
    """Make an index's collection, and then the row that describes it, which makes it an index."""
    if calls("has_collection", address.table):
        raise BadInput(f"{address.shown} is there already; open it, or choose another name after #")
    if not calls("has_collection", DESCRIPTIONS):
        _create_collection(calls, DESCRIPTIONS, {"description": DataType.VARCHAR}, DIMENSIONS[0], "exact")
    fields = {"text": DataType.VARCHAR, "metadata": DataType.VARCHAR, FIELD: DataType.JSON, "length": DataType.DOUBLE}
    _create_collection(calls, address.table, fields, description["width"], description["kind"])
    row = {"id": address.table, "description": json.dumps(description), "vector": [0.0] * DIMENSIONS[0]}
    calls("upsert", DESCRIPTIONS, [row])


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


def milvus_description(calls: MilvusCalls, name: str) -> Any:
    """Dimension, kind and model of an index; None if there is none of this name."""
    if not calls("has_collection", DESCRIPTIONS) or not calls("has_collection", name):
        return None
    rows = calls("query", DESCRIPTIONS, filter=f"id == {milvus_literal(name)}", output_fields=["description"])
    return json.loads(rows[0]["description"]) if rows else None


def milvus_rows(records: Records) -> list[dict[str, Any]]:
    """Records as Milvus takes them."""
    stored = UnitRows.of(np.asarray(records.vectors))
    texts, metadata = records.texts or [None] * len(records), records.metadata or [{}] * len(records)
    columns = (records.ids, texts, metadata, stored.lengths.tolist(), stored.rows)
    rows = [_row(*values) for values in zip(*columns, strict=True)]
    total = stored.rows.nbytes + sum(_checked_bytes(row) for row in rows)
    if total > MAX_REQUEST:
        raise BadInput(
            f"{len(records):,} records have {total:,} bytes; expected at most {MAX_REQUEST:,} in one call, which is "
            "stored whole or not at all: add `records.blocks(1000)` one after the other"
        )
    return rows


def _row(name: str, text: str | None, metadata: Mapping[str, Value], length: float, vector: Any) -> dict[str, Any]:
    kinds = values_by_kind(metadata)
    return dict(zip([*FIELDS, FIELD], [name, text, metadata_json(metadata), length, vector, kinds], strict=True))


def _checked_bytes(row: Mapping[str, Any]) -> int:
    """The bytes of a row's strings, each of which must not be too long."""
    sizes = {field: len((row[field] or "").encode()) for field in ("id", "text", "metadata")}
    for field, size in sizes.items():
        if size > MAX_BYTES:
            raise BadInput(f"the {field} of {row['id']!r:.80} has {size:,} bytes; Milvus takes at most {MAX_BYTES:,}")
    return sum(sizes.values()) + sizes["metadata"]  # the JSON field holds the same values again


def records_of_rows(rows: Sequence[Mapping[str, Any]], dimension: int) -> Records:
    """Records of rows that were queried with `FIELDS`."""
    vectors = np.array([row["vector"] for row in rows], np.float32).reshape(len(rows), dimension)
    original = UnitRows(vectors, np.array([row["length"] for row in rows], np.float64)).original()
    metadata = [json.loads(row["metadata"]) for row in rows]
    return Records([row["id"] for row in rows], original, [row["text"] for row in rows], metadata)


MAX_K = 16_384
"""The most that Milvus returns of one search."""
ID_BLOCK = 1000  # ids in one expression
EF = 100
"""Candidates that HNSW keeps while it searches; 2k where that is more."""


class MilvusIndex(Index):
    """A collection of records, and a row in the collection `likewise_indexes` that describes it."""

    def __init__(self, address: ServerAddress, calls: MilvusCalls, description: Any, *, read_only: bool) -> None:
        self.location, self._name, self._calls = address.shown, address.table, calls
        self.dimension, self.kind, self._read_only = description["width"], description["kind"], read_only
        self.model = None if description["model"] is None else ModelIdentity.from_json(description["model"])

    @classmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None = None) -> "MilvusIndex":
        address = ServerAddress.parse(location, SCHEME, OPTIONS)
        described = None if model is None else model.as_json()
        kind = address.options.get("index", "exact")
        description = {"width": milvus_dimension(dimension), "kind": kind, "model": described}
        calls = MilvusCalls(address)
        _create(calls, address, description)
        return cls(address, calls, description, read_only=False)

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "MilvusIndex":
        address = ServerAddress.parse(location, SCHEME, OPTIONS)
        calls = MilvusCalls(address)
        description = milvus_description(calls, address.table)
        if description is None or address.options.get("index", description["kind"]) != description["kind"]:
            calls.close()
            found = "none there" if description is None else f"index={description['kind']}"
            raise BadInput(f"{address.shown}: expected an index that `create` made from this location; found {found}")
        return cls(address, calls, description, read_only=read_only)

    def add(self, records: Records) -> None:
        rows = self._rows(records)
        check_new(self._existing(records.ids), self.location)
        self._store(rows)

    def upsert(self, records: Records) -> None:
        self._store(self._rows(records))

    def delete(self, ids: Sequence[str]) -> int:
        check_ids(ids)
        check_not_read_only(self.location, self._read_only)
        existing = self._existing(ids)
        if existing:
            self._calls("delete", self._name, filter=_among(existing))
        return len(existing)

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """The greatest inner products of rows of length 1."""
        rows, k = checked_queries(queries, self.dimension), whole_number("k", k)
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
        names = id_list(ids)
        found = {row["id"]: row for row in self._with_ids(names, FIELDS)}
        return records_of_rows(found_in_order(names, found, self.location), self.dimension)

    def records(self, block: int = 1000) -> Iterator[Records]:
        for page in self._calls.pages(self._name, whole_number("block", block), FIELDS):
            yield records_of_rows(page, self.dimension)

    def count(self, where: str | None = None) -> int:
        """How many records there are, or how many pass the filter."""
        rows = self._calls("query", self._name, filter=self._expression(where), output_fields=["count(*)"])
        return int(rows[0]["count(*)"])

    def close(self) -> None:
        self._calls.close()

    def _expression(self, where: str | None) -> str:
        """The filter in Milvus' language; "" passes all."""
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
        return milvus_rows(checked_records(records, self.dimension))

    def _store(self, rows: list[dict[str, Any]]) -> None:
        if rows:
            self._calls("upsert", self._name, rows)


def _among(ids: Sequence[str]) -> str:
    return f"id in [{', '.join(map(milvus_literal, ids))}]"
