"""Segments: files of consecutive vectors of one data type, whose committed rows never change."""

import os
import zlib
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple

import numpy as np

from ...array_types import Int64, Shaped
from ...errors import BadInput
from ...runtime.atomic_files import naming_full_disk
from ...runtime.syncing import sync, sync_folder

SEGMENT_ROWS = 1 << 16
HEADER_BYTES = 64
MAGIC = b"likewise rows 1\n"
FOLDER = "vectors"


class RowFormat(NamedTuple):
    """The format of a collection's rows: dimension and data type (`float16` or `float32`)."""

    width: int
    dtype: np.dtype

    @property
    def row_bytes(self) -> int:
        return self.width * self.dtype.itemsize

    def header(self, number: int) -> bytes:
        """The header of a segment file: its identity, and a checksum of the header."""
        words = np.array([number, self.width], "<u8").tobytes() + self.dtype.str.encode().ljust(8)
        return (MAGIC + words + zlib.crc32(words).to_bytes(8, "little")).ljust(HEADER_BYTES, b"\0")

    def file_bytes(self, rows: int) -> int:
        return HEADER_BYTES + rows * self.row_bytes


class DamagedSegment(BadInput):
    """A segment's file is missing, too short, or belongs to another segment."""


def segment_path(folder: Path, number: int) -> Path:
    return folder / FOLDER / f"{number:08}.rows"


def row_checksums(rows: Shaped[np.ndarray, "N E"]) -> list[int]:
    return [zlib.crc32(row) for row in np.ascontiguousarray(rows)]


def write_segment_rows(path: Path, number: int, first: int, rows: Shaped[np.ndarray, "N E"]) -> None:
    """Write rows from position `first` on, over any leftovers, and sync them; create the file if `first` is 0."""
    layout = RowFormat(rows.shape[1], rows.dtype)
    with naming_full_disk(path):
        with FileIO(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+b") as file:
            if first == 0:
                _write(file, layout.header(number), 0)
            _write(file, np.ascontiguousarray(rows).data.cast("B"), layout.file_bytes(first))
            sync(file.fileno())
        if first == 0:
            sync_folder(path.parent)


def _write(file: FileIO, content: bytes | memoryview, place: int) -> None:
    """Write the whole content; a single system call may write only part of it."""
    file.seek(place)
    rest = memoryview(content)
    while len(rest):
        rest = rest[file.write(rest) :]


def map_rows(path: Path, number: int, rows: int, layout: RowFormat) -> Shaped[np.ndarray, "N E"]:
    """The first rows of a segment, memory-mapped, so that they are only read when they are used."""
    with path.open("rb") as file:
        header, size = file.read(HEADER_BYTES), os.fstat(file.fileno()).st_size
        if header != layout.header(number):
            raise DamagedSegment(f"{path} does not have the header of segment {number}; verify() lists the damage")
        if size < layout.file_bytes(rows):
            there = (size - HEADER_BYTES) // layout.row_bytes
            raise DamagedSegment(f"{path} contains only {there:,} of {rows:,} rows; verify() lists the lost records")
        return np.memmap(file, layout.dtype, "r", HEADER_BYTES, (rows, layout.width))


def rows_there(path: Path, number: int, layout: RowFormat) -> int:
    """The number of complete rows in a file; 0 if it is missing or belongs to another segment."""
    try:
        with path.open("rb") as file:
            good, size = file.read(HEADER_BYTES) == layout.header(number), os.fstat(file.fileno()).st_size
    except OSError:
        return 0
    return (size - HEADER_BYTES) // layout.row_bytes if good else 0


def cut_tails(folder: Path, committed: Iterable[tuple[int, int]], layout: RowFormat) -> None:
    """Remove uncommitted data: the ends of segments, and segments that no transaction refers to."""
    sizes = {segment_path(folder, number): layout.file_bytes(rows) for number, rows in committed}
    for path in (folder / FOLDER).iterdir():
        if path.suffix == ".rows" and path not in sizes:
            path.unlink()
        elif path in sizes and path.stat().st_size > sizes[path]:
            os.truncate(path, sizes[path])


def append_rows(db: Connection, folder: Path, rows: Shaped[np.ndarray, "N E"]) -> Int64[np.ndarray, " N"]:
    """Append rows, starting a new segment whenever one is full, and return their row numbers."""
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
    """Create a segment without rows and return its number, which is never reused."""
    return int(db.execute("INSERT INTO segments (rows) VALUES (0)").lastrowid or 0)


def _last_segment(db: Connection) -> tuple[int, int]:
    """The number and row count of the last segment, or those of a full segment 0 if no segment exists yet."""
    return db.execute("SELECT number, rows FROM segments ORDER BY number DESC LIMIT 1").fetchone() or (0, SEGMENT_ROWS)
