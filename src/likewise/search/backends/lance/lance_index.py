"""LanceIndex: an index as a folder of LanceDB [extra: lance].

    LanceIndex.create("lance:FOLDER", width=384)

Exact. Every call makes a new version of the table, which is there for all readers at once; `compact` removes the old.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from jaxtyping import Shaped

from ....runtime.arguments import real_number, whole_number
from ...filters import named_columns, parse_filter
from ...index import Index, Match, ModelIdentity
from ...records import Records, check_ids, checked_records
from ...unit_rows import checked_queries
from ..conversions import as_matches
from ..refusals import check_new, check_not_read_only, found_in_order, id_list, unknown_filter_column
from . import lance_table as rows
from .lance_filters import among, lance_expression, lance_has_column

ID_BLOCK = 1000  # ids in one expression


class LanceIndex(Index):
    """A table of records; nothing is indexed, so that search is exact."""

    def __init__(self, location: str, table: Any, *, read_only: bool) -> None:
        self.location, self._table, self._read_only = location, table, read_only
        self.width, self.model = rows.lance_description(table)

    @classmethod
    def create(cls, location: str, width: int, model: ModelIdentity | None = None) -> "LanceIndex":
        """Make the folder and its table."""
        return cls(location, rows.create_lance_table(location, whole_number("width", width), model), read_only=False)

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "LanceIndex":
        """Open a folder that `create` made."""
        return cls(location, rows.open_lance_table(location), read_only=read_only)

    def add(self, records: Records) -> None:
        """Store new records: their ids are looked up first, then they are one version of the table."""
        records = self._checked(records)
        check_new(self._with_ids(list(records.ids), ["id"])["id"].to_pylist(), self.location)
        if len(records):
            self._table.add(rows.lance_rows(records, self.width))

    def upsert(self, records: Records) -> None:
        """Store records, and replace those of the same ids, in one version of the table."""
        records = self._checked(records)
        if len(records):
            merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            merge.execute(rows.lance_rows(records, self.width))

    def delete(self, ids: Sequence[str]) -> int:
        """Delete by id, in one version of the table."""
        check_ids(ids)
        check_not_read_only(self.location, self._read_only)
        return int(self._table.delete(among("id", list(ids))).num_deleted_rows) if len(ids) else 0

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """The greatest inner products of rows of length 1."""
        vectors, k = checked_queries(queries, self.width), whole_number("k", k)
        expression = self._expression(where)
        return [self._nearest(vector, k, expression) for vector in vectors]

    def get(self, ids: Sequence[str]) -> Records:
        """The records with these ids."""
        names = id_list(ids)
        found = self._with_ids(names, rows.STORED)
        places = {name: place for place, name in enumerate(found["id"].to_pylist())}
        order = np.array(found_in_order(names, places, self.location), np.int64)
        return rows.stored_records(found.take(order), self.width)

    def records(self, block: int = 1000) -> Iterator[Records]:
        """All records, in the order of the table."""
        batches = self._table.search().select(rows.STORED).to_batches(batch_size=whole_number("block", block))
        for table in rows.reblocked(batches, block):
            yield rows.stored_records(table, self.width)

    def count(self, where: str | None = None) -> int:
        """How many records there are, or how many pass the filter."""
        return int(self._table.count_rows(self._expression(where)))

    def compact(self, keep_seconds: float = 3600.0) -> None:
        """Join small files, and remove versions older than this: a reader in the middle of one would fail."""
        check_not_read_only(self.location, self._read_only)
        self._table.optimize(cleanup_older_than=timedelta(seconds=real_number("keep_seconds", keep_seconds)))

    def close(self) -> None:
        """Nothing is held open between calls."""

    def _nearest(self, vector: Any, k: int, expression: str | None) -> list[Match]:
        search = self._table.search(vector).distance_type("dot").select(["id", "_distance"]).limit(k)
        found = (search if expression is None else search.where(expression, prefilter=True)).to_arrow()
        scores = 1 - found["_distance"].to_numpy()  # LanceDB's distance is 1 − the inner product
        return as_matches(zip(found["id"].to_pylist(), scores, strict=True))

    def _expression(self, where: str | None) -> str | None:
        """The filter as SQL.

        Raises:
            BadInput: it cannot be read, or names a column that no record has.
        """
        if where is None:
            return None
        condition = parse_filter(where)
        for name in named_columns(condition):
            if not len(self._table.search().where(lance_has_column(name)).select(["id"]).limit(1).to_arrow()):
                raise unknown_filter_column(name, self.location)
        return lance_expression(condition)

    def _with_ids(self, ids: Sequence[str], columns: list[str]) -> Any:
        blocks = [ids[start : start + ID_BLOCK] for start in range(0, len(ids), ID_BLOCK)] or [[""]]
        found = (self._table.search().where(among("id", some)).select(columns).to_arrow() for some in blocks)
        return rows.stacked_tables(list(found))

    def _checked(self, records: Records) -> Records:
        check_not_read_only(self.location, self._read_only)
        return checked_records(records, self.width)
