"""The SQL of PgvectorIndex: its table, the table that describes all indexes of a database, and copying rows in and out.

Names are quoted by the driver and values are parameters; nothing that a user gave is pasted into a statement.
"""

import json
from collections.abc import Sequence
from typing import Any, LiteralString, cast

import numpy as np

from ....errors import BadInput
from ....runtime.arguments import whole_number
from ...exact import UnitRows
from ...records import Records
from ..conversions import metadata_json
from ..server_address import ServerAddress
from .postgres_transactions import SQL, Composed, Cursor, Identifier, Jsonb, Literal

COLUMNS = ("id", "text", "metadata", "length", "vector")
TYPES = ("text", "text", "jsonb", "float8", "vector")
MAX_WIDTHS = {"exact": 16_000, "hnsw": 2_000}
"""The widest vectors that pgvector stores, and the widest that its HNSW takes."""

CREATE = """CREATE TABLE {table} (
    position bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    id text COLLATE "C" PRIMARY KEY,
    text text,
    metadata jsonb NOT NULL,
    length double precision NOT NULL,
    vector vector({width}) NOT NULL
)"""
CREATE_INDEXES = """CREATE TABLE IF NOT EXISTS likewise_indexes (
    name text COLLATE "C" PRIMARY KEY,
    width integer NOT NULL,
    kind text NOT NULL,
    model jsonb
)"""
CREATE_INCOMING = """CREATE TEMPORARY TABLE likewise_incoming (
    number serial, id text, text text, metadata jsonb, length double precision, vector vector({width})
) ON COMMIT DROP"""
REPLACE = """INSERT INTO {table} ({columns}) SELECT {columns} FROM likewise_incoming ORDER BY number
    ON CONFLICT (id) DO UPDATE SET text = EXCLUDED.text, metadata = EXCLUDED.metadata,
        length = EXCLUDED.length, vector = EXCLUDED.vector"""
NEAREST = {
    "exact": "SELECT id, -(vector <#> %s) FROM {table} WHERE {where} ORDER BY vector <#> %s, position LIMIT %s",
    "hnsw": "SELECT id, -(vector <#> %s) FROM {table} WHERE {where} ORDER BY vector <#> %s LIMIT %s",
}
"""By kind; of equal scores the one added earlier comes first, but for HNSW, which has no such order."""
NEXT_BLOCK = "SELECT {columns}, position FROM {table} WHERE position > %s ORDER BY position LIMIT %s"


def pgvector_width(width: object, kind: str) -> int:
    """The width, if pgvector can hold such vectors.

    Raises:
        BadInput: it is too large for this kind of index.
    """
    width = whole_number("width", width)
    if width > MAX_WIDTHS[kind]:
        raise BadInput(f"width is {width:,}; pgvector takes at most {MAX_WIDTHS[kind]:,} with index={kind}")
    return width


def create_table(cursor: Cursor, address: ServerAddress, row: tuple[int, str, Any]) -> None:
    """Make an index's table, and its row (width, kind, model) in `likewise_indexes`; one process at a time does so.

    Raises:
        BadInput: there is such a table; or the database's encoding cannot hold every text.
    """
    cursor.execute(
        "SELECT pg_advisory_xact_lock(hashtext('likewise_indexes')), getdatabaseencoding(), to_regclass(%s)",
        [Identifier(address.table).as_string(cursor)],
    )
    _, encoding, existing = cursor.fetchone() or (None, None, None)
    if encoding != "UTF8":
        raise BadInput(f"{address.shown}: the database's encoding is {encoding}; expected UTF8")
    if existing is not None:
        raise BadInput(f"{address.shown} is there already; open it, or choose another name after #")
    cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
    cursor.execute(CREATE_INDEXES)
    width, kind, model = row
    cursor.execute(SQL(CREATE).format(table=Identifier(address.table), width=Literal(width)))
    if kind == "hnsw":
        cursor.execute(
            SQL("CREATE INDEX ON {table} USING hnsw (vector vector_ip_ops)").format(table=Identifier(address.table))
        )
    cursor.execute(
        "INSERT INTO likewise_indexes VALUES (%s, %s, %s, %s)",
        [address.table, width, kind, None if model is None else json.dumps(model)],
    )


def index_row(cursor: Cursor, table: str) -> tuple[int, str, Any] | None:
    """Width, kind and model of an index; None if there is none of this name."""
    cursor.execute("SELECT to_regclass('likewise_indexes') IS NOT NULL")
    if cursor.fetchone() != (True,):
        return None
    cursor.execute("SELECT width, kind, model FROM likewise_indexes WHERE name = %s", [table])
    return cast("tuple[int, str, Any] | None", cursor.fetchone())


def statement(text: LiteralString, table: str, where: Any = "true") -> Composed:
    """The statement with a table's name, the columns and an expression of `postgres_where`."""
    columns = SQL(", ").join(map(Identifier, COLUMNS))
    return SQL(text).format(table=Identifier(table), columns=columns, where=SQL(where))


def copy_rows(cursor: Cursor, table: str, records: Records) -> None:
    """Send records by COPY, in PostgreSQL's binary form."""
    stored = UnitRows.of(np.asarray(records.vectors))
    with cursor.copy(statement("COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)", table)) as copy:
        copy.set_types(TYPES)
        for i, name in enumerate(records.ids):
            text = None if records.texts is None else records.texts[i]
            metadata = {} if records.metadata is None else records.metadata[i]
            document = Jsonb(metadata, dumps=metadata_json)
            copy.write_row((name, text, document, float(stored.lengths[i]), stored.rows[i]))


def selected_records(rows: Sequence[tuple[Any, ...]], width: int) -> Records:
    """Records of rows that were selected with `columns`."""
    vectors = np.array([row[4].to_numpy() for row in rows], np.float32).reshape(len(rows), width)
    original = UnitRows(vectors, np.array([row[3] for row in rows], np.float64)).original()
    return Records([row[0] for row in rows], original, [row[1] for row in rows], [row[2] for row in rows])
