"""The collection of a MilvusIndex, the collection that describes all indexes of a database, and records as rows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....errors import BadInput
from ....runtime.arguments import whole_number
from ...exact import UnitRows
from ...records import Records, Value
from ..conversions import metadata_json
from ..server_address import ServerAddress
from .milvus_calls import DataType, MilvusCalls, MilvusClient
from .milvus_filters import FIELD, milvus_literal, values_by_kind

WIDTHS = range(2, 32_769)
"""The widths of vectors that Milvus holds."""
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


def milvus_width(width: object) -> int:
    """The width, if Milvus can hold such vectors.

    Raises:
        BadInput: it cannot.
    """
    width = whole_number("width", width)
    if width not in WIDTHS:
        raise BadInput(f"width is {width:,}; Milvus takes {WIDTHS[0]} to {WIDTHS[-1]:,}")
    return width


def create(calls: MilvusCalls, address: ServerAddress, description: Mapping[str, Any]) -> None:
    """Make an index's collection, and then the row that describes it, which makes it an index.

    Raises:
        BadInput: there is a collection of this name.
    """
    if calls("has_collection", address.table):
        raise BadInput(f"{address.shown} is there already; open it, or choose another name after #")
    if not calls("has_collection", DESCRIPTIONS):
        _create_collection(calls, DESCRIPTIONS, {"description": DataType.VARCHAR}, WIDTHS[0], "exact")
    fields = {"text": DataType.VARCHAR, "metadata": DataType.VARCHAR, FIELD: DataType.JSON, "length": DataType.DOUBLE}
    _create_collection(calls, address.table, fields, description["width"], description["kind"])
    row = {"id": address.table, "description": json.dumps(description), "vector": [0.0] * WIDTHS[0]}
    calls("upsert", DESCRIPTIONS, [row])


def _create_collection(calls: MilvusCalls, name: str, fields: Mapping[str, Any], width: int, kind: str) -> None:
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=MAX_BYTES)
    for field, kind_of_field in fields.items():
        longest: dict[str, Any] = {"max_length": MAX_BYTES} if kind_of_field is DataType.VARCHAR else {}
        schema.add_field(field, kind_of_field, nullable=field == "text", **longest)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=width)
    index = MilvusClient.prepare_index_params()
    index.add_index("vector", metric_type="IP", **PARAMETERS[kind])
    calls("create_collection", name, schema=schema, index_params=index, consistency_level="Strong")


def milvus_description(calls: MilvusCalls, name: str) -> Any:
    """Width, kind and model of an index; None if there is none of this name."""
    if not calls("has_collection", DESCRIPTIONS) or not calls("has_collection", name):
        return None
    rows = calls("query", DESCRIPTIONS, filter=f"id == {milvus_literal(name)}", output_fields=["description"])
    return json.loads(rows[0]["description"]) if rows else None


def milvus_rows(records: Records) -> list[dict[str, Any]]:
    """Records as Milvus takes them.

    Raises:
        BadInput: a text or metadata is too long, or all together are too much for one request.
    """
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


def records_of_rows(rows: Sequence[Mapping[str, Any]], width: int) -> Records:
    """Records of rows that were queried with `FIELDS`."""
    vectors = np.array([row["vector"] for row in rows], np.float32).reshape(len(rows), width)
    original = UnitRows(vectors, np.array([row["length"] for row in rows], np.float64)).original()
    metadata = [json.loads(row["metadata"]) for row in rows]
    return Records([row["id"] for row in rows], original, [row["text"] for row in rows], metadata)
