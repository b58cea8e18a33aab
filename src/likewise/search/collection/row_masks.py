"""Which rows of a snapshot pass a filter: by columns of metadata that are computed once for a segment, and kept."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from ..filters import Condition
from ..records import Value
from .metadata_columns import MetadataColumns, as_arrays, coded, from_arrays, joined
from .storage.derived_files import derived_path, map_arrays, write_arrays
from .storage.record_table import stored_between
from .storage.snapshot import SegmentRows, Snapshot


class RowMasks:
    """The columns of each segment, as far as they were needed. Those of a full segment are kept in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._columns: dict[int, MetadataColumns] = {}

    def passing(
        self, condition: Condition | None, db: sqlite3.Connection, snapshot: Snapshot
    ) -> list[Bool[np.ndarray, " n"]]:
        """For each segment, which rows are alive and pass; `db` is in the transaction of the snapshot."""
        if condition is None:
            return [segment.alive for segment in snapshot.segments]
        self._columns = {s.number: self._of(s, db) for s in snapshot.segments}
        return [s.alive & self._columns[s.number].passing(condition) for s in snapshot.segments]

    def _of(self, segment: SegmentRows, db: sqlite3.Connection) -> MetadataColumns:
        known = self._columns.get(segment.number) or self._kept(segment)
        if known is None or known.rows > segment.rows:
            known = MetadataColumns(0, {})
        if known.rows == segment.rows:
            return known
        new = coded(segment.rows - known.rows, _metadata(db, segment.first + known.rows, segment.first + segment.rows))
        known = joined(known, new)
        if segment.is_full:
            write_arrays(derived_path(self.folder, segment.number, "columns"), as_arrays(known))
        return known

    def _kept(self, segment: SegmentRows) -> MetadataColumns | None:
        arrays = map_arrays(derived_path(self.folder, segment.number, "columns")) if segment.is_full else None
        return None if arrays is None else from_arrays(arrays)


def _metadata(db: sqlite3.Connection, first: int, end: int) -> Iterator[tuple[int, dict[str, Value]]]:
    """Places behind `first` and metadata, of the records that have any; dead rows have none, and are never asked."""
    return ((row.row - first, row.values()) for row in stored_between(db, first, end) if row.metadata)
