"""Repair: what is good is kept; damaged records are removed, named, and written to a file."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...runtime.atomic_files import atomic_file
from ...runtime.durability.syncing import sync
from ...runtime.progress import Progress
from .compaction import rewrite_segments
from .open_files import OpenFiles
from .storage.record_table import OF_IDS
from .storage.segments import SEGMENT_ROWS
from .storage.snapshot import Snapshot
from .verification import readable_part, verify_collection


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


def repair_collection(files: OpenFiles, progress: Progress) -> RepairReport:
    """Verify, remove what is damaged, and compute again what depends on the rest."""
    files.check_writable()
    with files.journal.checking() as db:
        db.execute("REINDEX")
    report, file = verify_collection(files, progress), None
    if not report.is_clean:
        with files.writing() as db:
            file = _write_damaged(db, files.folder, report.damaged)
            _remove_damaged(db, report.damaged)
        files.snapshot = Snapshot()
        _rewrite_short_segments(files)
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


def _write_damaged(db: sqlite3.Connection, folder: Path, damaged: dict[str, str]) -> str | None:
    """Write the damaged records to a new file, a line of JSON each, and return its name; None if there is none."""
    if not damaged:
        return None
    path = folder / f"damaged-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.jsonl"
    found = db.execute(f"SELECT id, text, metadata FROM records WHERE {OF_IDS} ORDER BY key", [json.dumps([*damaged])])
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8") as file:
        for name, text, metadata in found:
            row = {"id": name, "damaged": damaged[name], "text": text, "metadata": metadata}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        file.flush()
        sync(file.fileno())
    return path.name


def _remove_damaged(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Remove records, and compute again what depends on them: indexes, tombstones, counts and full text."""
    listed = [json.dumps(list(ids))]
    db.execute(f"DELETE FROM records WHERE {OF_IDS}", listed)
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
