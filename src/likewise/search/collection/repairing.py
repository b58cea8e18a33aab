"""Repair: what is good is kept; damaged records are removed, named, and written to a file."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...runtime.atomic_files import atomic_file
from ...runtime.progress import Progress
from ...runtime.syncing import sync
from .compaction import rewrite_segments
from .record_table import OF_KEYS
from .segments import SEGMENT_ROWS
from .snapshot import OpenFiles, Snapshot
from .verification import CollectionReport, readable_part, verify_collection


@dataclass(frozen=True)
class RepairReport:
    """What `repair` did: the ids that were removed, why, and the file with their texts and metadata (None: no record).

    `kept`: how many records there are now.
    """

    kept: int
    removed: dict[str, str]
    file: str | None

    def as_json(self) -> dict[str, Any]:
        """The report."""
        return asdict(self)


def repair_collection(files: OpenFiles, show_progress_bar: Progress) -> RepairReport:
    """Verify, remove what is damaged, and compute again what depends on the rest."""
    files.check_writable()
    with files.journal.checking() as db, suppress(sqlite3.IntegrityError):  # of damaged ids and rows, removed below
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
        _rewrite_short_segments(files)
        _check_repaired(files)
    for name in report.stale:
        (files.folder / name).unlink(missing_ok=True)
    with files.reading() as (_, snapshot):
        return RepairReport(snapshot.count, report.damaged, file)


def _rewrite_short_segments(files: OpenFiles) -> None:
    """Move what is left of segments whose files lack rows to new ones."""
    with files.reading() as (_, snapshot):
        short = [segment for segment in snapshot.segments if segment.mapped is None]
    for segment in short:
        rewrite_segments(files, [readable_part(segment, files.folder, files.settings.layout)])


def _check_repaired(files: OpenFiles) -> None:
    """Refuse to call good what is still damaged."""
    left = verify_collection(files, False)
    if not left.is_clean:
        raise _beyond_repair(files.folder, [*left.problems, *left.damaged][0])


def _beyond_repair(folder: Path, problem: str) -> BadInput:
    return BadInput(
        f"{folder} cannot be repaired: {problem}; restore it from a copy, or write what can be read to a new index: "
        "likewise index copy"
    )


def _write_damaged(db: sqlite3.Connection, folder: Path, report: CollectionReport) -> str | None:
    """Write the damaged records to a new file, a line of JSON each, and return its name; None if there is none."""
    if not report.keys:
        return None
    path = folder / f"damaged-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.jsonl"
    listed = [json.dumps([*report.keys])]
    found = db.execute(f"SELECT key, id, text, metadata FROM records WHERE {OF_KEYS} ORDER BY key", listed)
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8") as file:
        for key, name, text, metadata in found:
            row = {"id": name, "damaged": report.keys[key], "text": text, "metadata": metadata}
            file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
        file.flush()
        sync(file.fileno())
    return path.name


def _remove_damaged(db: sqlite3.Connection, keys: Sequence[int]) -> None:
    """Remove records, and compute again what depends on them: indexes, tombstones, counts and full text."""
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
    """Remove records outside of all segments, and make every row that no record has a tombstone."""
    db.execute("DELETE FROM tombstones")
    for number, rows in segments:
        first = number * SEGMENT_ROWS
        alive = {
            row for (row,) in db.execute("SELECT row FROM records WHERE row >= ? AND row < ?", [first, first + rows])
        }
        dead = ((row,) for row in range(first, first + rows) if row not in alive)
        db.executemany("INSERT INTO tombstones (row) VALUES (?)", dead)
