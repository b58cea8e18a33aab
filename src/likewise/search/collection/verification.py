"""Verification: every checksum and count of a collection, and which records are damaged."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.progress import Advance, Progress, show_progress
from . import derived_files
from .derived_files import is_intact
from .journal import SCHEMA
from .record_table import StoredRow, column_counts, stored_between
from .segments import FOLDER, SEGMENT_ROWS, RowFormat, map_rows, row_checksums, rows_there, segment_path
from .snapshot import OpenFiles, SegmentRows

OUTSIDE = """SELECT key, id FROM records WHERE NOT EXISTS
    (SELECT 1 FROM segments WHERE records.row >= number * ? AND records.row < number * ? + rows)"""
"""Records whose rows are in no segment; the parameters are SEGMENT_ROWS."""
BLOCK = 4096  # rows checked at a time
MOST_ERRORS = 20  # of SQLite that are listed


@dataclass
class CollectionReport:
    """What `verify` found."""

    records: int = 0
    damaged: dict[str, str] = field(default_factory=dict)
    """Ids of damaged records, and what of them is."""
    problems: list[str] = field(default_factory=list)
    """What else is wrong."""
    stale: list[str] = field(default_factory=list)
    """Derived files that are damaged or of an earlier version; they are computed again."""
    keys: dict[int, str] = field(default_factory=dict, repr=False)
    """As `damaged`, by the keys of the records in the journal: ids may be damaged as well."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing that matters is wrong."""
        return not self.damaged and not self.problems

    def as_json(self) -> dict[str, Any]:
        """The report, and whether it is clean."""
        return {"clean": self.is_clean, **{name: value for name, value in asdict(self).items() if name != "keys"}}

    def add_damaged(self, key: int, name: str, what: str) -> None:
        """Note a damaged record."""
        self.keys[key] = self.damaged[str(name)] = what


def verify_collection(files: OpenFiles, show_progress_bar: Progress) -> CollectionReport:
    """Read everything, in one transaction; with the lock of a writer, compare full text with the texts, too."""
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
        there = min(rows, rows_there(segment_path(folder, number), number, layout))
        if there < rows:
            report.problems.append(f"{FOLDER}/{segment_path(folder, number).name} has {there:,} of {rows:,} rows")
        for block in _blocks(db, number * SEGMENT_ROWS):
            _check_block(block, _vectors(folder, number, there, layout), number, report)
            _count(block, counts)
            advance(len(block), 0)
        _check_dead(db, number, rows, report)
    _check_totals(db, counts, report)
    paths = sorted((folder / derived_files.FOLDER).glob("*.*"))
    report.stale += [f"{derived_files.FOLDER}/{path.name}" for path in paths if not is_intact(path)]
    return report


def _check_schema(db: sqlite3.Connection) -> list[str]:
    """Which tables are not as they were made."""
    found = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view')")}
    made = [statement for statement in SCHEMA if statement.startswith("CREATE")]
    return [f"the journal has not: {statement.splitlines()[0]}" for statement in made if statement not in found]


def _check_words(db: sqlite3.Connection) -> list[str]:
    """What is wrong with the full text; SQLite checks it only in a transaction that may write."""
    try:
        db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        return [f"the full text does not fit the texts: {error}"]
    return []


def readable_part(segment: SegmentRows, folder: Path, layout: RowFormat) -> SegmentRows:
    """A segment whose file is short or missing, with those rows mapped that are there."""
    there = min(segment.rows, rows_there(segment_path(folder, segment.number), segment.number, layout))
    return SegmentRows(segment.number, segment.rows, segment.alive, _vectors(folder, segment.number, there, layout))


def _blocks(db: sqlite3.Connection, first: int) -> Iterator[list[StoredRow]]:
    """The records of a segment, some at a time."""
    end = first + SEGMENT_ROWS
    for start in range(first, end, BLOCK):
        if block := list(stored_between(db, start, min(start + BLOCK, end))):
            yield block


def _vectors(folder: Path, number: int, there: int, layout: RowFormat) -> Any:
    return (
        map_rows(segment_path(folder, number), number, there, layout)
        if there
        else np.empty((0, layout.width), layout.dtype)
    )


def _check_block(block: list[StoredRow], vectors: Any, number: int, report: CollectionReport) -> None:
    """Note the records whose text or vector is damaged or missing."""
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
    """Every row is a record's or a tombstone, and none is both."""
    between = [number * SEGMENT_ROWS, number * SEGMENT_ROWS + rows]
    alive, dead = (
        {row for (row,) in db.execute(f"SELECT row FROM {table} WHERE row >= ? AND row < ?", between)}
        for table in ("records", "tombstones")
    )
    if alive & dead or len(alive | dead) < rows:
        report.problems.append(
            f"segment {number}: {len(alive & dead):,} rows are both alive and dead, and "
            f"{rows - len(alive | dead):,} are neither"
        )


def _check_totals(db: sqlite3.Connection, counts: Counter[str], report: CollectionReport) -> None:
    if db.execute("SELECT count(*) FROM records").fetchone()[0] != report.records:
        for key, name in db.execute(OUTSIDE, [SEGMENT_ROWS, SEGMENT_ROWS]).fetchall():
            report.add_damaged(key, name, "row")
    if not report.damaged and column_counts(db) != dict(counts):
        report.problems.append("the counts of metadata columns are wrong")
