"""PgvectorIndex: an index stored as a PostgreSQL table with the pgvector extension [extra: pgvector].

    PgvectorIndex.create("postgresql://user:password@host/database#passages", dimension=384)

Search is exact by default; `?index=hnsw` before the # creates an approximate index (HNSW), which finds most of the
nearest records in far less time. Each call is one transaction. Rows are stored at unit length, with their norms in a
separate column, so that the cosine is an inner product, which is defined even for a zero row.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any, LiteralString, TypeAlias, cast

import numpy as np

from ...array_types import Shaped
from ...errors import BadInput, LikewiseError, ServerUnavailable
from ...runtime.arguments import found_in_order, whole_number
from ...runtime.installation import missing_extra
from ..exact import checked_queries
from ..filters.languages import postgres_where
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
    import psycopg
    from pgvector import Vector
    from pgvector.psycopg import register_vector
    from psycopg.sql import SQL, Composed, Identifier, Literal
    from psycopg.types.json import Jsonb
except ImportError:
    raise missing_extra("psycopg", "pgvector", "an index in PostgreSQL") from None

STARTING = ("starting up", "shutting down", "recovery", "too many", "slots are reserved")
"""Fragments of temporary server errors; any other rejection, such as a wrong password, is final."""

Cursor: TypeAlias = psycopg.Cursor
Connection: TypeAlias = psycopg.Connection


class PostgresTransactions:
    """One connection to a server, opened when a transaction needs it, and reopened after it is lost.

    The threads of a process may share it, but only one at a time can hold a transaction.
    """

    def __init__(self, address: ServerAddress, *, read_only: bool) -> None:
        self.address, self.read_only = address, read_only
        self._connection: Connection | None = None
        self._has_vectors = False
        self._lock = RLock()

    @contextmanager
    def begin(self) -> Iterator[Cursor]:
        """A cursor inside a transaction, committed when the block ends and rolled back when it fails."""
        stage = "The transaction was not committed, so nothing was stored"
        with self._lock:
            connection = self._begun()
            try:
                with connection.cursor() as cursor:
                    yield cursor
                stage = (
                    "It was lost during the commit: the records may or may not be stored; check once the server is back"
                )
                connection.execute("ROLLBACK" if self.read_only else "COMMIT")
            except psycopg.Error as error:
                raise self._explained(error, connection, stage) from error
            except BaseException:
                self._roll_back(connection)
                raise

    def close(self) -> None:
        """Close the connection; a later transaction opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    def _begun(self) -> Connection:
        """Begin a transaction; a broken connection is reopened, with pauses between attempts."""

        def attempt() -> Connection:
            connection = self._connection or self._connect()
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" if self.read_only else "BEGIN")
            self._register_vectors(connection)
            return connection

        return retried(attempt, psycopg.Error, self._not_begun)

    def _not_begun(self, error: psycopg.Error) -> tuple[LikewiseError, bool]:
        """Explain a connection error; rejected logins are final, because retrying cannot help."""
        self.close()
        if not isinstance(error, psycopg.OperationalError):
            return BadInput(f"{self.address.shown} cannot be opened: {_one_line(error)}"), True
        unavailable = ServerUnavailable(
            f"{self.address.shown} cannot be reached: {_one_line(error)}. Nothing was stored; check that the server "
            "is running and that the address, database, user and password are correct"
        )
        return unavailable, "FATAL" in str(error) and not any(part in str(error) for part in STARTING)

    def _connect(self) -> Connection:
        self._connection = psycopg.connect(self.address.url, autocommit=True, connect_timeout=10)
        self._has_vectors = False
        return self._connection

    def _register_vectors(self, connection: Connection) -> None:
        """Allow NumPy rows as parameters once the database has the vector type, which `create` adds."""
        if not self._has_vectors:
            with suppress(psycopg.ProgrammingError):  # the extension is not installed yet
                register_vector(connection)
                self._has_vectors = True

    def _roll_back(self, connection: Connection) -> None:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:  # the server rolls back transactions of lost connections
            self.close()

    def _explained(self, error: psycopg.Error, connection: Connection, stage: str) -> LikewiseError:
        if connection.broken or isinstance(error, psycopg.errors.AdminShutdown | psycopg.errors.CrashShutdown):
            self.close()
            return ServerUnavailable(f"the connection to {self.address.shown} was lost: {_one_line(error)}. {stage}")
        self._roll_back(connection)
        return BadInput(f"{self.address.shown}: the server rejected the request: {_one_line(error)}")


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())


COLUMNS = ("id", "text", "metadata", "length", "vector")
TYPES = ("text", "text", "jsonb", "float8", "vector")
MAX_DIMENSIONS = {"exact": 16_000, "hnsw": 2_000}
"""The maximum dimension that pgvector stores, and that its HNSW index supports."""

CREATE = """CREATE TABLE {table} (
    position bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    id text COLLATE "C" PRIMARY KEY,
    text text,
    metadata jsonb NOT NULL,
    length double precision NOT NULL,
    vector vector({dimension}) NOT NULL
)"""
CREATE_INDEXES = """CREATE TABLE IF NOT EXISTS likewise_indexes (
    name text COLLATE "C" PRIMARY KEY,
    width integer NOT NULL,
    kind text NOT NULL,
    model jsonb
)"""
CREATE_INCOMING = """CREATE TEMPORARY TABLE likewise_incoming (
    number serial, id text, text text, metadata jsonb, length double precision, vector vector({dimension})
) ON COMMIT DROP"""
REPLACE = """INSERT INTO {table} ({columns}) SELECT {columns} FROM likewise_incoming ORDER BY number
    ON CONFLICT (id) DO UPDATE SET text = EXCLUDED.text, metadata = EXCLUDED.metadata,
        length = EXCLUDED.length, vector = EXCLUDED.vector"""
NEAREST = {
    "exact": "SELECT id, -(vector <#> %s) FROM {table} WHERE {where} ORDER BY vector <#> %s, position LIMIT %s",
    "hnsw": "SELECT id, -(vector <#> %s) FROM {table} WHERE {where} ORDER BY vector <#> %s LIMIT %s",
}
"""The search statements by kind of index. In a tie, older records come first, except with HNSW."""
NEXT_BLOCK = "SELECT {columns}, position FROM {table} WHERE position > %s ORDER BY position LIMIT %s"


def create_table(cursor: Cursor, address: ServerAddress, row: tuple[int, str, Any]) -> None:
    """Create an index's table and its row (dimension, kind, model) in `likewise_indexes`, one process at a time."""
    cursor.execute(
        "SELECT pg_advisory_xact_lock(hashtext('likewise_indexes')), getdatabaseencoding(), to_regclass(%s)",
        [Identifier(address.table).as_string(cursor)],
    )
    _, encoding, existing = cursor.fetchone() or (None, None, None)
    if encoding != "UTF8":
        raise BadInput(f"{address.shown}: the database's encoding is {encoding}; expected UTF8")
    if existing is not None:
        raise address.taken()
    cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
    cursor.execute(CREATE_INDEXES)
    dimension, kind, model = row
    cursor.execute(SQL(CREATE).format(table=Identifier(address.table), dimension=Literal(dimension)))
    if kind == "hnsw":
        cursor.execute(
            SQL("CREATE INDEX ON {table} USING hnsw (vector vector_ip_ops)").format(table=Identifier(address.table))
        )
    cursor.execute(
        "INSERT INTO likewise_indexes VALUES (%s, %s, %s, %s)",
        [address.table, dimension, kind, None if model is None else json.dumps(model)],
    )


def index_row(cursor: Cursor, table: str) -> tuple[int, str, Any] | None:
    """Dimension, kind and model of an index; None if no index has this name."""
    cursor.execute("SELECT to_regclass('likewise_indexes') IS NOT NULL")
    if cursor.fetchone() != (True,):
        return None
    cursor.execute("SELECT width, kind, model FROM likewise_indexes WHERE name = %s", [table])
    return cast("tuple[int, str, Any] | None", cursor.fetchone())


def statement(text: LiteralString, table: str, where: Any = "true") -> Composed:
    """Fill in the table name, the columns and an expression from `postgres_where`."""
    columns = SQL(", ").join(map(Identifier, COLUMNS))
    return SQL(text).format(table=Identifier(table), columns=columns, where=SQL(where))


def copy_rows(cursor: Cursor, table: str, records: Records) -> None:
    """Send records with COPY, in PostgreSQL's binary format."""
    with cursor.copy(statement("COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)", table)) as copy:
        copy.set_types(TYPES)
        for name, text, metadata, length, vector in stored_columns(records):
            copy.write_row((name, text, Jsonb(metadata, dumps=metadata_json), length, vector))


SCHEME = "postgresql"
OPTIONS = {"index": ("exact", "hnsw")}
EF_SEARCH = 100
"""HNSW keeps this many candidates during a search, or 2k, whichever is more, up to pgvector's limit of 1,000."""
HNSW_SETTINGS = "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'strict_order', true)"


class PgvectorIndex(Index):
    """A table of ids, vectors, texts and metadata, described by a row in the table `likewise_indexes`."""

    def __init__(self, address: ServerAddress, transactions: PostgresTransactions, row: tuple[int, str, Any]) -> None:
        self.location, self._table, self._transactions = address.shown, address.table, transactions
        self.dimension, self.kind = row[0], row[1]
        self.model = None if row[2] is None else ModelIdentity.from_json(row[2])

    @classmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None = None) -> "PgvectorIndex":
        address = ServerAddress.parse(location, SCHEME, OPTIONS)
        kind = address.options.get("index", "exact")
        if whole_number("dimension", dimension) > MAX_DIMENSIONS[kind]:
            raise BadInput(
                f"dimension is {dimension:,}; pgvector supports at most {MAX_DIMENSIONS[kind]:,} with index={kind}"
            )
        row = (dimension, kind, None if model is None else model.as_json())
        transactions = PostgresTransactions(address, read_only=False)
        try:
            with transactions.begin() as cursor:
                create_table(cursor, address, row)
        finally:
            transactions.close()  # connections opened after this know the type `vector`
        return cls(address, transactions, row)

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "PgvectorIndex":
        address = ServerAddress.parse(location, SCHEME, OPTIONS)
        transactions = PostgresTransactions(address, read_only=read_only)
        try:
            with transactions.begin() as cursor:
                row = address.check_created(index_row(cursor, address.table))
        except BaseException:
            transactions.close()
            raise
        return cls(address, transactions, row)

    def add(self, records: Records) -> None:
        records = checked_records(records, self.dimension)
        with self._writing() as cursor:
            cursor.execute(self._sql("SELECT id FROM {table} WHERE id = ANY(%s) LIMIT 1"), [list(records.ids)])
            check_new((row[0] for row in cursor.fetchall()), self.location)
            copy_rows(cursor, self._table, records)

    def upsert(self, records: Records) -> None:
        records = checked_records(records, self.dimension)
        with self._writing() as cursor:
            cursor.execute(SQL(CREATE_INCOMING).format(dimension=Literal(self.dimension)))
            copy_rows(cursor, "likewise_incoming", records)
            cursor.execute(self._sql(REPLACE))

    def delete(self, ids: Sequence[str]) -> int:
        check_ids(ids)
        with self._writing() as cursor:
            cursor.execute(self._sql("DELETE FROM {table} WHERE id = ANY(%s)"), [list(ids)])
            return int(cursor.rowcount)

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """The records with the greatest inner products; all queries see the same state, and older records win ties."""
        rows, k = checked_queries(queries, self.dimension), whole_number("k", k)
        with self._transactions.begin() as cursor:
            condition, values = self._condition(cursor, where)
            if self.kind == "hnsw":
                cursor.execute(HNSW_SETTINGS, [str(min(max(EF_SEARCH, 2 * k), 1000))])
            nearest = self._sql(NEAREST[self.kind], condition)
            found = (cursor.execute(nearest, [row, *values, row, k]).fetchall() for row in rows)
            return [as_matches(pairs) for pairs in found]

    def get(self, ids: Sequence[str]) -> Records:
        names = listed_ids(ids)
        with self._transactions.begin() as cursor:
            cursor.execute(self._sql("SELECT {columns} FROM {table} WHERE id = ANY(%s)"), [names])
            rows: dict[Any, Any] = {row[0]: row for row in cursor}
        return stored_records(found_in_order(names, rows, self.location), self.dimension, dict, Vector.to_numpy)

    def records(self, block: int = 1000) -> Iterator[Records]:
        block, position = whole_number("block", block), -1
        while True:
            with self._transactions.begin() as cursor:
                rows: Any = cursor.execute(self._sql(NEXT_BLOCK), [position, block]).fetchall()
            if not rows:
                return
            position = rows[-1][-1]
            yield stored_records(rows, self.dimension, dict, Vector.to_numpy)

    def count(self, where: str | None = None) -> int:
        with self._transactions.begin() as cursor:
            condition, values = self._condition(cursor, where)
            cursor.execute(self._sql("SELECT count(*) FROM {table} WHERE {where}", condition), values)
            return sum(int(row[0]) for row in cursor.fetchall())

    def close(self) -> None:
        self._transactions.close()

    def _sql(self, text: LiteralString, where: str = "true") -> Composed:
        return statement(text, self._table, where)

    def _condition(self, cursor: Cursor, where: str | None) -> tuple[str, list[Any]]:
        if where is None:
            return "true", []

        def has_column(name: str) -> Any:
            return cursor.execute(self._sql("SELECT 1 FROM {table} WHERE metadata ? %s LIMIT 1"), [name]).fetchone()

        return postgres_where(checked_filter(where, self.location, has_column))

    @contextmanager
    def _writing(self) -> Iterator[Cursor]:
        """A transaction during which no other process can write to the table; readers see the previous state."""
        check_not_read_only(self.location, self._transactions.read_only)
        with self._transactions.begin() as cursor:
            cursor.execute(self._sql("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"))
            yield cursor
