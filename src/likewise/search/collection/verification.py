"""Verify every checksum and count of a collection, and repair it by keeping only intact records."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BadInput
from ...runtime.atomic_files import atomic_file
from ...runtime.progress import Advance, Progress, show_progress
from . import derived_files
from .compaction import rewrite_segments
from .derived_files import map_arrays
from .journal import SCHEMA
from .record_table import OF_KEYS, StoredRow, column_counts, stored_between
from .segments import FOLDER, SEGMENT_ROWS, RowFormat, map_rows, row_checksums, rows_there, segment_path
from .snapshot import OpenFiles, Snapshot

OUTSIDE = """SELECT key, id FROM records WHERE NOT EXISTS
    (SELECT 1 FROM segments WHERE records.row >= number * ? AND records.row < number * ? + rows)"""
"""Records whose rows are not in any segment; both parameters are SEGMENT_ROWS."""
BLOCK = 4096  # rows checked at a time
MOST_ERRORS = 20  # number of SQLite errors to list


@dataclass
class CollectionReport:
    records: int = 0
    damaged: dict[str, str] = field(default_factory=dict)
    """The ids of damaged records, each with a description of the damaged part."""
    problems: list[str] = field(default_factory=list)
    """Descriptions of all other problems."""
    stale: list[str] = field(default_factory=list)
    """Derived files that are damaged or from an earlier version, and will be recomputed."""
    keys: dict[int, str] = field(default_factory=dict, repr=False)
    """Like `damaged`, but indexed by journal key, since ids may be damaged too."""

    @property
    def is_clean(self) -> bool:
        """Whether the collection is intact; derived files are ignored."""
        return not self.damaged and not self.problems

    def as_json(self) -> dict[str, Any]:
        return {"clean": self.is_clean, **{name: value for name, value in asdict(self).items() if name != "keys"}}

    def add_damaged(self, key: int, name: str, what: str) -> None:
        self.keys[key] = self.damaged[str(name)] = what


def verify_collection(files: OpenFiles, show_progress_bar: Progress) -> CollectionReport:
    """Check all data in one transaction; with write access, also compare the full-text index with the texts."""
    with (
        files.reading() as (db, snapshot),
        files.journal.any_text(),
        show_progress(show_progress_bar, snapshot.count) as advance,
    ):
        report = _read_all(db, files.folder, files.settings.layout, advance)
    if files.lock is not None:
        with files.journal.checking() as db:
            report.problems += _check_words(db)
    return report


def _read_all(db: sqlite3.Connection, folder: Path, layout: RowFormat, advance: Advance) -> CollectionReport:
    report = CollectionReport()
    found = [message for (message,) in db.execute(f"PRAGMA integrity_check({MOST_ERRORS})")]
    report.problems += [f"the journal: {message}" for message in found if message != "ok"]
    report.problems += _check_schema(db)
    counts: Counter[str] = Counter()
    for number, rows in db.execute("SELECT number, rows FROM segments ORDER BY number").fetchall():
        vectors = _readable_rows(folder, number, rows, layout)
        if len(vectors) < rows:
            name = segment_path(folder, number).name
            report.problems.append(f"{FOLDER}/{name} has {len(vectors):,} of {rows:,} rows")
        for block in _blocks(db, number * SEGMENT_ROWS):
            _check_block(block, vectors, number, report)
            _count(block, counts)
            advance(len(block), 0)
        _check_dead(db, number, rows, report)
    _check_totals(db, counts, report)
    paths = sorted((folder / derived_files.FOLDER).glob("*.*"))
    report.stale += [f"{derived_files.FOLDER}/{path.name}" for path in paths if map_arrays(path) is None]
    return report


def _check_schema(db: sqlite3.Connection) -> list[str]:
    """List tables that differ from their definitions."""
    found = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view')")}
    made = [statement for statement in SCHEMA if statement.startswith("CREATE")]
    return [f"the journal lacks: {statement.splitlines()[0]}" for statement in made if statement not in found]


def _check_words(db: sqlite3.Connection) -> list[str]:
    """List errors in the full-text index, which SQLite can only check in a write transaction."""
    try:
        db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        return [f"the full-text index does not match the texts: {error}"]
    return []


def _readable_rows(folder: Path, number: int, rows: int, layout: RowFormat) -> Any:
    """The rows of a segment that can still be read from its file."""
    path = segment_path(folder, number)
    there = min(rows, rows_there(path, number, layout))
    return map_rows(path, number, there, layout) if there else np.empty((0, layout.width), layout.dtype)


def _blocks(db: sqlite3.Connection, first: int) -> Iterator[list[StoredRow]]:
    end = first + SEGMENT_ROWS
    for start in range(first, end, BLOCK):
        if block := list(stored_between(db, start, min(start + BLOCK, end))):
            yield block


def _check_block(block: list[StoredRow], vectors: Any, number: int, report: CollectionReport) -> None:
    """Report the records whose text or vector is damaged or missing."""
    report.records += len(block)
    places = np.array([row.row - number * SEGMENT_ROWS for row in block])
    there = places < len(vectors)
    checksums = iter(row_checksums(vectors[places[there]]))
    for row, has_vector in zip(block, there, strict=True):
        wrong = [] if row.is_good else ["text, metadata or length"]
        if not has_vector or next(checksums) != row.vector_checksum:
            wrong.append("vector")
        if wrong:
            report.add_damaged(row.key, row.id, " and ".join(wrong))


def _count(block: list[StoredRow], counts: Counter[str]) -> None:
    for row in block:
        with suppress(ValueError):  # the record is listed as damaged
            counts.update(row.values().keys())


def _check_dead(db: sqlite3.Connection, number: int, rows: int, report: CollectionReport) -> None:
    """Check that every row either belongs to a record or is a tombstone."""
    between = [number * SEGMENT_ROWS, number * SEGMENT_ROWS + rows]
    alive, dead = (
        {row for (row,) in db.execute(f"SELECT row FROM {table} WHERE row >= ? AND row < ?", between)}
        for table in ("records", "tombstones")
    )
    if alive & dead or len(alive | dead) < rows:
        report.problems.append(
            f"segment {number}: {len(alive & dead):,} rows have both a record and a tombstone, and "
            f"{rows - len(alive | dead):,} have neither"
        )


def _check_totals(db: sqlite3.Connection, counts: Counter[str], report: CollectionReport) -> None:
    if db.execute("SELECT count(*) FROM records").fetchone()[0] != report.records:
        for key, name in db.execute(OUTSIDE, [SEGMENT_ROWS, SEGMENT_ROWS]).fetchall():
            report.add_damaged(key, name, "row")
    if not report.damaged and column_counts(db) != dict(counts):
        report.problems.append("the counts of metadata columns are wrong")


@dataclass(frozen=True)
class RepairReport:
    """How many records `repair` kept, which ids it removed and why, and the file it wrote the removed records to."""

    kept: int
    removed: dict[str, str]
    file: str | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def repair_collection(files: OpenFiles, show_progress_bar: Progress) -> RepairReport:
    """Verify the collection, remove damaged records, and rebuild everything that depends on the remaining ones."""
    files.check_writable()
    with (
        files.journal.checking() as db,
        suppress(sqlite3.IntegrityError),
    ):  # caused by damaged ids and rows, which are removed below
        db.execute("REINDEX")
    report, file = verify_collection(files, show_progress_bar), None
    if not report.is_clean:
        try:
            with files.writing() as db:
                with files.journal.any_text():
                    file = _write_damaged(db, files.folder, report)
                _remove_damaged(db, [*report.keys])
        except sqlite3.IntegrityError as error:
            raise _beyond_repair(files.folder, str(error)) from None
        files.snapshot = Snapshot()
        with files.reading() as (_, snapshot):
            short = [segment for segment in snapshot.segments if segment.mapped is None]
        for segment in short:  # the remaining rows of truncated segments are moved to new segments
            left = _readable_rows(files.folder, segment.number, segment.rows, files.settings.layout)
            rewrite_segments(files, [replace(segment, mapped=left)])
        again = verify_collection(files, False)
        if not again.is_clean:
            raise _beyond_repair(files.folder, [*again.problems, *again.damaged][0])
    for name in report.stale:
        (files.folder / name).unlink(missing_ok=True)
    with files.reading() as (_, snapshot):
        return RepairReport(snapshot.count, report.damaged, file)


def _beyond_repair(folder: Path, problem: str) -> BadInput:
    return BadInput(
        f"{folder} cannot be repaired: {problem}; restore it from a backup, or copy what can still be read to a new "
        "index with likewise index copy"
    )


def _write_damaged(db: sqlite3.Connection, folder: Path, report: CollectionReport) -> str | None:
    """Write the damaged records to a new JSON Lines file and return its name; None if there are no such records."""
    if not report.keys:
        return None
    path = folder / f"damaged-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.jsonl"
    listed = [json.dumps([*report.keys])]
    found = db.execute(f"SELECT key, id, text, metadata FROM records WHERE {OF_KEYS} ORDER BY key", listed)
    with atomic_file(path, durable=True) as partial, partial.open("w", encoding="utf-8") as file:
        for key, name, text, metadata in found:
            row = {"id": name, "damaged": report.keys[key], "text": text, "metadata": metadata}
            file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
    return path.name


def _remove_damaged(db: sqlite3.Connection, keys: Sequence[int]) -> None:
    """Remove records, and rebuild what depends on them: indexes, tombstones, counts and the full-text index."""
    db.execute(f"DELETE FROM records WHERE {OF_KEYS}", [json.dumps(keys)])
    db.execute("REINDEX")
    segments = db.execute("SELECT number, rows FROM segments").fetchall()
    _bury(db, segments)
    db.execute("DELETE FROM columns")
    db.execute(
        """INSERT INTO columns SELECT names.key, count(*) FROM records, json_each(records.metadata) AS names
        GROUP BY names.key"""
    )
    db.execute("INSERT INTO words (words) VALUES ('rebuild')")


def _bury(db: sqlite3.Connection, segments: Sequence[tuple[int, int]]) -> None:
    """Discard the old tombstones, and turn every row without a record into a tombstone."""
    db.execute("DELETE FROM tombstones")
    for number, rows in segments:
        first = number * SEGMENT_ROWS
        alive = {
            row for (row,) in db.execute("SELECT row FROM records WHERE row >= ? AND row < ?", [first, first + rows])
        }
        dead = ((row,) for row in range(first, first + rows) if row not in alive)
        db.executemany("INSERT INTO tombstones (row) VALUES (?)", dead)
