"""PgvectorIndex: an index as a table of a PostgreSQL server with the extension pgvector [extra: pgvector].

    PgvectorIndex.create("postgresql://user:password@host/database#passages", width=384)

Exact by default; `?index=hnsw` before the # keeps an approximate index (HNSW), which returns most of the nearest in
far less time. A call is one transaction. Rows are kept at length 1, with their lengths beside them, so that the cosine
is an inner product, which is defined for a zero row, too.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString

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
from . import pgvector_table as table
from .postgres_transactions import SQL, Composed, Cursor, Literal, PostgresTransactions
from .postgres_where import postgres_where

SCHEME = "postgresql"
OPTIONS = {"index": ("exact", "hnsw")}
EF_SEARCH = 100
"""Candidates that HNSW keeps while it searches; 2k where that is more, and 1,000, pgvector's limit, at most."""
HNSW_SETTINGS = "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'strict_order', true)"


class PgvectorIndex(Index):
    """A table of ids, vectors, texts and metadata, and a row of the table `likewise_indexes` that describes it."""

    def __init__(self, address: ServerAddress, transactions: PostgresTransactions, row: tuple[int, str, Any]) -> None:
        self.location, self._table, self._transactions = address.shown, address.table, transactions
        self.width, self.kind = row[0], row[1]
        self.model = None if row[2] is None else ModelIdentity.from_json(row[2])

    @classmethod
    def create(cls, location: str, width: int, model: ModelIdentity | None = None) -> "PgvectorIndex":
        """Make the table, the extension where it is missing, and the HNSW index if the location asks for it."""
        address = ServerAddress.parse(location, SCHEME, OPTIONS)
        kind = address.options.get("index", "exact")
        row = (table.pgvector_width(width, kind), kind, None if model is None else model.as_json())
        transactions = PostgresTransactions(address, read_only=False)
        try:
            with transactions.begin() as cursor:
                table.create_table(cursor, address, row)
        finally:
            transactions.close()  # a connection opened from now on knows the type `vector`
        return cls(address, transactions, row)

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "PgvectorIndex":
        """Open a table that `create` made."""
        address = ServerAddress.parse(location, SCHEME, OPTIONS)
        transactions = PostgresTransactions(address, read_only=read_only)
        with transactions.begin() as cursor:
            row = table.index_row(cursor, address.table)
        if row is None or address.options.get("index", row[1]) != row[1]:
            transactions.close()
            found = "none there" if row is None else f"index={row[1]}"
            raise BadInput(f"{address.shown}: expected an index that `create` made from this location; found {found}")
        return cls(address, transactions, row)

    def add(self, records: Records) -> None:
        """Store new records, in one transaction."""
        records = checked_records(records, self.width)
        with self._writing() as cursor:
            cursor.execute(self._sql("SELECT id FROM {table} WHERE id = ANY(%s) LIMIT 1"), [list(records.ids)])
            check_new((row[0] for row in cursor.fetchall()), self.location)
            table.copy_rows(cursor, self._table, records)

    def upsert(self, records: Records) -> None:
        """Store records, and replace those of the same ids, by way of a temporary table."""
        records = checked_records(records, self.width)
        with self._writing() as cursor:
            cursor.execute(SQL(table.CREATE_INCOMING).format(width=Literal(self.width)))
            table.copy_rows(cursor, "likewise_incoming", records)
            cursor.execute(self._sql(table.REPLACE))

    def delete(self, ids: Sequence[str]) -> int:
        """Delete by id, in one transaction."""
        check_ids(ids)
        with self._writing() as cursor:
            cursor.execute(self._sql("DELETE FROM {table} WHERE id = ANY(%s)"), [list(ids)])
            return int(cursor.rowcount)

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """The greatest inner products of rows of length 1, all queries on one state; ties: the one added earlier."""
        rows, k = checked_queries(queries, self.width), whole_number("k", k)
        with self._transactions.begin() as cursor:
            condition, values = self._condition(cursor, where)
            if self.kind == "hnsw":
                cursor.execute(HNSW_SETTINGS, [str(min(max(EF_SEARCH, 2 * k), 1000))])
            nearest = self._sql(table.NEAREST[self.kind], condition)
            found = (cursor.execute(nearest, [row, *values, row, k]).fetchall() for row in rows)
            return [as_matches(pairs) for pairs in found]

    def get(self, ids: Sequence[str]) -> Records:
        """The records with these ids."""
        names = id_list(ids)
        with self._transactions.begin() as cursor:
            cursor.execute(self._sql("SELECT {columns} FROM {table} WHERE id = ANY(%s)"), [names])
            rows: dict[Any, Any] = {row[0]: row for row in cursor}
        return table.selected_records(found_in_order(names, rows, self.location), self.width)

    def records(self, block: int = 1000) -> Iterator[Records]:
        """All records in the order in which their ids were added first; each block is read in its own transaction."""
        block, position = whole_number("block", block), -1
        while True:
            with self._transactions.begin() as cursor:
                rows: Any = cursor.execute(self._sql(table.NEXT_BLOCK), [position, block]).fetchall()
            if not rows:
                return
            position = rows[-1][-1]
            yield table.selected_records(rows, self.width)

    def count(self, where: str | None = None) -> int:
        """How many rows the table has, or how many pass the filter."""
        with self._transactions.begin() as cursor:
            condition, values = self._condition(cursor, where)
            cursor.execute(self._sql("SELECT count(*) FROM {table} WHERE {where}", condition), values)
            return sum(int(row[0]) for row in cursor.fetchall())

    def close(self) -> None:
        """Close the connection."""
        self._transactions.close()

    def _sql(self, text: LiteralString, where: str = "true") -> Composed:
        return table.statement(text, self._table, where)

    def _condition(self, cursor: Cursor, where: str | None) -> tuple[str, list[Any]]:
        """The filter as SQL with its parameters.

        Raises:
            BadInput: it cannot be read, or names a column that no record has.
        """
        if where is None:
            return "true", []
        condition = parse_filter(where)
        for name in named_columns(condition):
            cursor.execute(self._sql("SELECT 1 FROM {table} WHERE metadata ? %s LIMIT 1"), [name])
            if cursor.fetchone() is None:
                raise unknown_filter_column(name, self.location)
        return postgres_where(condition)

    @contextmanager
    def _writing(self) -> Iterator[Cursor]:
        """A transaction in which no other process writes to the table; others read what was there before."""
        check_not_read_only(self.location, self._transactions.read_only)
        with self._transactions.begin() as cursor:
            cursor.execute(self._sql("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"))
            yield cursor
