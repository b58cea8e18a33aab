"""Appending rows of vectors to the segments, on the disk before the transaction that counts them is committed."""

from pathlib import Path
from sqlite3 import Connection

import numpy as np
from jaxtyping import Int64, Shaped

from .segments import SEGMENT_ROWS, segment_path, write_segment_rows


def append_rows(db: Connection, folder: Path, rows: Shaped[np.ndarray, "N E"]) -> Int64[np.ndarray, " N"]:
    """Write rows behind the last ones, in new segments where one is full, and return their numbers."""
    numbers = [np.empty(0, np.int64)]
    start = 0
    while start < len(rows):
        number, first = _last_segment(db)
        if first == SEGMENT_ROWS:
            number, first = new_segment(db), 0
        part = rows[start : start + SEGMENT_ROWS - first]
        write_segment_rows(segment_path(folder, number), number, first, part)
        db.execute("UPDATE segments SET rows = ? WHERE number = ?", [first + len(part), number])
        numbers.append(number * SEGMENT_ROWS + np.arange(first, first + len(part)))
        start += len(part)
    return np.concatenate(numbers)


def new_segment(db: Connection) -> int:
    """A new segment without rows; no number is used twice."""
    return int(db.execute("INSERT INTO segments (rows) VALUES (0)").lastrowid or 0)


def _last_segment(db: Connection) -> tuple[int, int]:
    """Number and rows; a full one where there is none."""
    return db.execute("SELECT number, rows FROM segments ORDER BY number DESC LIMIT 1").fetchone() or (0, SEGMENT_ROWS)
