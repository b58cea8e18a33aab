"""A collection's open files, and snapshots of its rows: which are live, pass a filter, or are nearest to a query."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...array_types import Bool, Float32, Int64, Shaped
from ...arrays.quantization import Int8Vectors, quantize_int8
from ...errors import BadInput
from ...native.scanning import Hits, available, merged, no_hits
from ...native.threads import thread_count
from ...runtime.cancellation import check_cancelled
from ...runtime.writer_lock import WriterLock
from ..exact import nearest_units
from ..filters import Condition
from ..quantized import search_quantized
from ..records import Value
from .collection_folder import FORMAT, CollectionSettings, read_settings, upgraded
from .derived_files import derived_path, map_arrays, write_arrays
from .journal import FILE as JOURNAL
from .journal import Journal
from .metadata_columns import MetadataColumns, as_arrays, coded, from_arrays, joined
from .record_table import stored_between
from .segments import SEGMENT_ROWS, DamagedSegment, RowFormat, cut_tails, map_rows, segment_path


@dataclass(frozen=True)
class SegmentRows:
    """The committed rows of a segment, and which of them are live; `error` says why its vectors cannot be read."""

    number: int
    rows: int
    alive: Bool[np.ndarray, " n"]
    mapped: Shaped[np.ndarray, "n E"] | None
    error: str = ""
    missing: bool = False
    """Whether the segment's file is missing: it was lost, or removed by a compaction after the transaction began."""

    @property
    def first(self) -> int:
        return self.number * SEGMENT_ROWS

    @property
    def is_full(self) -> bool:
        return self.rows == SEGMENT_ROWS

    @cached_property
    def living(self) -> int:
        return int(self.alive.sum())

    @property
    def vectors(self) -> Shaped[np.ndarray, "n E"]:
        if self.mapped is None:
            raise BadInput(self.error)
        return self.mapped


@dataclass(frozen=True)
class Snapshot:
    """The segments after a transaction, in order; `tombstone` is the position of the last tombstone applied."""

    version: int = -1
    tombstone: int = 0
    segments: tuple[SegmentRows, ...] = ()

    @cached_property
    def missing(self) -> bool:
        return any(segment.missing for segment in self.segments)

    @cached_property
    def count(self) -> int:
        return sum(segment.living for segment in self.segments)

    def vectors_of(self, rows: Int64[np.ndarray, " N"], layout: RowFormat) -> Shaped[np.ndarray, "N E"]:
        result = np.empty((len(rows), layout.width), layout.dtype)
        numbers = rows // SEGMENT_ROWS
        for segment in self.segments:
            here = np.flatnonzero(numbers == segment.number)
            if len(here):
                result[here] = segment.vectors[rows[here] - segment.first]
        return result


def refreshed(snapshot: Snapshot, db: sqlite3.Connection, folder: Path, layout: RowFormat) -> Snapshot:
    """The snapshot of the transaction that `db` is in; reuses unchanged parts of the earlier snapshot."""
    version = int(db.execute("SELECT version FROM state").fetchone()[0])
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
    """The positions of new tombstones, by segment."""
    found = db.execute("SELECT row FROM tombstones WHERE position > ?", [after]).fetchall()
    rows = np.array(found, np.int64).ravel()
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


class SegmentIndex:
    """Data derived from segments on first use: metadata columns and int8 vectors.

    A search scans the int8 vectors and rescores the best candidates with the stored vectors. The derived data of full
    segments is kept in files. Without the compiled library, vectors are not quantized, because NumPy would not search
    them any faster.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.threads = folder, thread_count()
        self._columns: dict[int, MetadataColumns] = {}
        self._quantized: dict[int, Int8Vectors] = {}

    def passing(
        self, condition: Condition | None, db: sqlite3.Connection, snapshot: Snapshot
    ) -> list[Bool[np.ndarray, " n"]]:
        """For each segment, which rows are live and pass the condition; `db` is in the snapshot's transaction."""
        if condition is None:
            return [segment.alive for segment in snapshot.segments]
        self._columns = {s.number: self._columns_of(s, db) for s in snapshot.segments}
        return [s.alive & self._columns[s.number].passing(condition) for s in snapshot.segments]

    def nearest(
        self, queries: Float32[np.ndarray, "Q E"], snapshot: Snapshot, masks: Sequence[Bool[np.ndarray, "..."]], k: int
    ) -> Hits:
        """The k rows with the greatest cosine among the rows in the masks, best first; earlier rows win ties."""
        if len(self._quantized) > len(snapshot.segments):  # a compaction has removed segments
            self._quantized = {
                s.number: self._quantized[s.number] for s in snapshot.segments if s.number in self._quantized
            }
        parts = [no_hits(len(queries))]
        for segment, mask in zip(snapshot.segments, masks, strict=True):
            if mask.any():
                check_cancelled()
                parts.append(self._nearest_of(queries, segment, None if mask.all() else mask, k))
        return merged(parts, k)

    def _nearest_of(self, queries: np.ndarray, segment: SegmentRows, mask: np.ndarray | None, k: int) -> Hits:
        if segment.is_full and available():
            quantized, vectors = self._quantized_of(segment), segment.vectors
            hits = search_quantized(queries, quantized, k, vectors=vectors, mask=mask, threads=self.threads)
        else:
            hits = nearest_units(queries, segment.vectors, k, mask, self.threads)
        return Hits(hits.indices + segment.first, hits.scores)

    def _quantized_of(self, segment: SegmentRows) -> Int8Vectors:
        known = self._quantized.get(segment.number)
        if known is None:
            path = derived_path(self.folder, segment.number, "int8")
            arrays = map_arrays(path)
            if arrays is not None and len(arrays["codes"]) == segment.rows:
                known = Int8Vectors(np.asarray(arrays["codes"]), np.asarray(arrays["scales"]))
            else:
                known = quantize_int8(segment.vectors)
                write_arrays(path, {"codes": known.codes, "scales": known.scales})
            self._quantized[segment.number] = known
        return known

    def _columns_of(self, segment: SegmentRows, db: sqlite3.Connection) -> MetadataColumns:
        path = derived_path(self.folder, segment.number, "columns")
        known = self._columns.get(segment.number)
        if known is None and segment.is_full and (arrays := map_arrays(path)) is not None:
            known = from_arrays(arrays)
        if known is None or known.rows > segment.rows:
            known = MetadataColumns(0, {})
        if known.rows == segment.rows:
            return known
        new = coded(segment.rows - known.rows, _metadata(db, segment.first + known.rows, segment.first + segment.rows))
        known = joined(known, new)
        if segment.is_full:
            write_arrays(path, as_arrays(known))
        return known


def _metadata(db: sqlite3.Connection, first: int, end: int) -> Iterator[tuple[int, dict[str, Value]]]:
    """The offset from `first` and the metadata of each record that has metadata; dead rows are never looked up."""
    return ((row.row - first, row.values()) for row in stored_between(db, first, end) if row.metadata)


class OpenFiles:
    """Transactions on the files of a collection; without a `lock`, they are read-only."""

    def __init__(self, folder: Path, journal: Journal, settings: CollectionSettings, lock: WriterLock | None) -> None:
        self.folder, self.journal, self.settings, self.lock = folder, journal, settings, lock
        self.snapshot = Snapshot()
        self._reading: tuple[sqlite3.Connection, Snapshot] | None = None

    @classmethod
    def open(cls, folder: Path, *, read_only: bool) -> "OpenFiles":
        """Open the folder; unless it is opened read-only, remove uncommitted data that a killed writer left."""
        path = folder / JOURNAL
        if not path.is_file():
            what = "is not a collection" if folder.exists() else "is not a collection: there is no such folder"
            raise BadInput(f"{folder} {what}; expected a folder with {path.name}, as written by likewise index add")
        lock = None if read_only else WriterLock(folder)
        try:
            found = Journal(path, read_only=read_only)
            opened = cls(folder, found, read_settings(folder, found), lock)
            if not read_only:
                found.use_log()
                opened.settings = upgraded(found, opened.settings)
                opened.cut_tails()
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return opened

    @contextmanager
    def reading(self, own: Journal | None = None) -> Iterator[tuple[sqlite3.Connection, Snapshot]]:
        """A transaction and its snapshot, on the journal's connection or `own`; if nested, it joins the outer one.

        If a segment's file is gone, another process may have compacted it since the transaction began, and a later
        state is read instead. Reads in a transaction can be cancelled.
        """
        if own is None:
            with self.journal.lock:  # so that `_reading` belongs to this thread
                if self._reading is not None:
                    yield self._reading
                    return
        version = None
        while True:
            with (own or self.journal).reading() as db:
                snapshot = refreshed(self.snapshot, db, self.folder, self.settings.layout)
                if not snapshot.missing or snapshot.version == version:
                    self.snapshot = snapshot
                    if own is not None:
                        yield db, snapshot
                        return
                    self._reading = db, snapshot
                    try:
                        yield self._reading
                    finally:
                        self._reading = None
                    return
                version = snapshot.version

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; if it fails, the rows written for it are removed if possible."""
        self.check_writable()
        try:
            with self.journal.writing() as db:
                yield db
        except BaseException:
            with suppress(BadInput, OSError):
                self.cut_tails()
            raise

    def check_words(self) -> None:
        """Raise an error if the indexed words were folded by the rules of an earlier version."""
        if self.settings.format != FORMAT:  # since it was opened, a writer may have upgraded it
            self.settings = read_settings(self.folder, self.journal)
        if self.settings.format != FORMAT:
            raise BadInput(
                f"the full-text index of {self.folder} was written by an earlier version, which normalized words "
                f"differently; open it once for writing (likewise index compact {self.folder}) to rebuild it"
            )

    def check_writable(self) -> None:
        if self.lock is None:
            raise BadInput(f"{self.folder} was opened read-only; open it without read_only to write")

    def cut_tails(self) -> None:
        with self.journal.reading() as db:
            committed = db.execute("SELECT number, rows FROM segments").fetchall()
        cut_tails(self.folder, committed, self.settings.layout)

    def close(self) -> None:
        self.journal.close()
        self.snapshot = Snapshot()
        if self.lock is not None:
            self.journal.keep_log_files()
            self.lock.release()
