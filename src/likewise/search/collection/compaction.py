"""Compaction copies the live rows of segments that contain dead rows into new segments, one segment at a time.

Each step is a transaction, and the old segment files are removed once it is committed. A step therefore needs disk
space for one segment, and a killed process leaves the collection as it was before or after a step. Readers keep the
files that they have mapped.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection

import numpy as np

from ...array_types import Int64
from ...errors import BadInput
from ...runtime.progress import Progress, show_progress
from .derived_files import remove_derived
from .segments import SEGMENT_ROWS, new_segment, row_checksums, segment_path, write_segment_rows
from .snapshot import OpenFiles, SegmentRows

BLOCK = 4096  # rows copied at a time
MERGE_PAGES = 500  # pages of the full-text index merged in one transaction


def compact_collection(files: OpenFiles, show_progress_bar: Progress) -> int:
    """Rewrite segments that have dead rows, shrink the journal, and return the number of dead rows removed."""
    with files.reading() as (_, snapshot):
        groups = groups_to_rewrite(snapshot.segments)
    returned = 0
    with show_progress(show_progress_bar, sum(segment.living for group in groups for segment in group)) as advance:
        for group in groups:
            returned += rewrite_segments(files, group)
            advance(sum(segment.living for segment in group), 0)
    compact_journal(files)
    return returned


def groups_to_rewrite(segments: Iterable[SegmentRows]) -> list[list[SegmentRows]]:
    """Group small segments and those with dead rows, so that the live rows of each group fit into one segment."""
    groups: list[list[SegmentRows]] = [[]]
    for segment in segments:
        if segment.living < SEGMENT_ROWS:
            if sum(one.living for one in groups[-1]) + segment.living > SEGMENT_ROWS:
                groups.append([])
            groups[-1].append(segment)
    return [group for group in groups if len(group) > 1 or any(one.living < one.rows for one in group)]


def rewrite_segments(files: OpenFiles, group: list[SegmentRows]) -> int:
    """Copy a group's live rows into a new segment, remove the old ones, and return the number of dead rows."""
    with files.writing() as db:
        number = new_segment(db)
        copied = 0
        for segment in group:
            found = _living(db, segment)
            for start in range(0, len(found), BLOCK):
                _copy(db, files.folder, segment, found[start : start + BLOCK], (number, copied))
                copied += len(found[start : start + BLOCK])
            between = [segment.first, segment.first + SEGMENT_ROWS]
            db.execute("DELETE FROM tombstones WHERE row >= ? AND row < ?", between)
            db.execute("DELETE FROM segments WHERE number = ?", [segment.number])
        db.execute("UPDATE segments SET rows = ? WHERE number = ?", [copied, number])
        db.execute("DELETE FROM segments WHERE rows = 0")
    for segment in group:
        remove_derived(files.folder, segment.number)
        with suppress(FileNotFoundError):
            segment_path(files.folder, segment.number).unlink()
    return sum(segment.rows for segment in group) - copied


def _living(db: Connection, segment: SegmentRows) -> Int64[np.ndarray, "n 3"]:
    """The key, row and checksum of each live record of a segment, in order."""
    found = db.execute(
        "SELECT key, row, vector_checksum FROM records WHERE row >= ? AND row < ? ORDER BY row",
        [segment.first, segment.first + SEGMENT_ROWS],
    ).fetchall()
    return np.array(found, np.int64).reshape(-1, 3)


def _copy(
    db: Connection, folder: Path, segment: SegmentRows, found: Int64[np.ndarray, "n 3"], place: tuple[int, int]
) -> None:
    number, first = place
    keys, rows, checksums = found.T
    vectors = np.asarray(segment.vectors[rows - segment.first])
    if row_checksums(vectors) != checksums.tolist():
        raise BadInput(
            f"{segment_path(folder, segment.number)} is damaged; verify() lists the damaged records, and repair() "
            "keeps the intact ones"
        )
    write_segment_rows(segment_path(folder, number), number, first, vectors)
    moved = number * SEGMENT_ROWS + first + np.arange(len(keys))
    db.executemany("UPDATE records SET row = ? WHERE key = ?", zip(moved.tolist(), keys.tolist(), strict=True))


def compact_journal(files: OpenFiles) -> None:
    """Merge the full-text index in small steps, return unused pages to the disk, and empty the write-ahead log."""
    changed = 2
    while changed > 1:  # FTS5 reports fewer than two changes when there is nothing left to merge
        with files.writing() as db:
            before = db.total_changes
            db.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", [MERGE_PAGES])
            changed = db.total_changes - before
    files.journal.return_space()
