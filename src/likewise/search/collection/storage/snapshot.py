"""Snapshot: which rows there are after some transaction, mapped into memory, and which of them are alive."""

import sqlite3
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64, Shaped

from ....errors import BadInput
from .segments import SEGMENT_ROWS, DamagedSegment, RowFormat, map_rows, segment_path


@dataclass(frozen=True)
class SegmentRows:
    """The committed rows of a segment, and which of them are alive; `error`: why its vectors cannot be read."""

    number: int
    rows: int
    alive: Bool[np.ndarray, " n"]
    mapped: Shaped[np.ndarray, "n E"] | None
    error: str = ""
    missing: bool = False
    """The segment's file is missing: lost, or removed by a compaction after the transaction began."""

    @property
    def first(self) -> int:
        """The number of its first row."""
        return self.number * SEGMENT_ROWS

    @property
    def is_full(self) -> bool:
        """Whether no more rows will be added."""
        return self.rows == SEGMENT_ROWS

    @cached_property
    def living(self) -> int:
        """How many rows are alive."""
        return int(self.alive.sum())

    @property
    def vectors(self) -> Shaped[np.ndarray, "n E"]:
        """Its vectors.

        Raises:
            BadInput: the file is damaged.
        """
        if self.mapped is None:
            raise BadInput(self.error)
        return self.mapped


@dataclass(frozen=True)
class Snapshot:
    """The segments after a transaction, in order; `tombstone` is the last that is known."""

    version: int = -1
    tombstone: int = 0
    segments: tuple[SegmentRows, ...] = ()

    @property
    def missing(self) -> bool:
        """Whether the file of a segment is."""
        return any(segment.missing for segment in self.segments)

    @cached_property
    def count(self) -> int:
        """How many records there are."""
        return sum(segment.living for segment in self.segments)

    def vectors_of(self, rows: Int64[np.ndarray, " N"], layout: RowFormat) -> Shaped[np.ndarray, "N E"]:
        """The vectors in these rows."""
        result = np.empty((len(rows), layout.width), layout.dtype)
        numbers = rows // SEGMENT_ROWS
        for segment in self.segments:
            here = np.flatnonzero(numbers == segment.number)
            if len(here):
                result[here] = segment.vectors[rows[here] - segment.first]
        return result


def current_version(db: sqlite3.Connection) -> int:
    """The number of the last transaction."""
    return int(db.execute("SELECT version FROM state").fetchone()[0])


def refreshed(snapshot: Snapshot, db: sqlite3.Connection, folder: Path, layout: RowFormat) -> Snapshot:
    """The snapshot of the transaction that `db` is in; what has not changed since the earlier one is kept."""
    version = current_version(db)
    if version == snapshot.version:
        return snapshot
    dead = _dead_rows(db, snapshot.tombstone)
    known = {segment.number: segment for segment in snapshot.segments}
    found = db.execute("SELECT number, rows FROM segments ORDER BY number").fetchall()
    segments = tuple(
        _segment(known.get(number), number, rows, dead.get(number, []), folder, layout) for number, rows in found
    )
    last = db.execute("SELECT coalesce(max(position), 0) FROM tombstones").fetchone()[0]
    return Snapshot(version, max(last, snapshot.tombstone), segments)


def _dead_rows(db: sqlite3.Connection, after: int) -> dict[int, Any]:
    """Places of new tombstones, by segment."""
    found = db.execute("SELECT row FROM tombstones WHERE position > ?", [after]).fetchall()
    rows = np.array(found, np.int64).reshape(-1)
    numbers = rows // SEGMENT_ROWS
    return {int(number): rows[numbers == number] % SEGMENT_ROWS for number in np.unique(numbers)}


def _segment(
    known: SegmentRows | None, number: int, rows: int, dead: Any, folder: Path, layout: RowFormat
) -> SegmentRows:
    if known is not None and known.rows == rows and not len(dead) and not known.error:
        return known
    alive = np.ones(rows, bool)
    if known is not None:
        alive[: known.rows] = known.alive
    alive[dead] = False
    if known is not None and known.rows == rows and known.mapped is not None:
        return SegmentRows(number, rows, alive, known.mapped)
    try:
        return SegmentRows(number, rows, alive, map_rows(segment_path(folder, number), number, rows, layout))
    except (DamagedSegment, OSError) as error:
        return SegmentRows(number, rows, alive, None, str(error), isinstance(error, FileNotFoundError))
