"""Repair: what is good is kept; damaged records are removed, named, and written to a file."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...runtime.atomic_files import atomic_file
from .record_table import OF_IDS
from .segments import SEGMENT_ROWS, sync


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


def write_damaged(db: sqlite3.Connection, folder: Path, damaged: dict[str, str]) -> str | None:
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


def remove_damaged(db: sqlite3.Connection, ids: Iterable[str]) -> None:
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
