"""The folder of a collection: how it is created and recognized, and the settings that never change."""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...errors import BadInput
from ...runtime import writer_lock
from ...runtime.arguments import known_name
from ...runtime.atomic_files import naming_full_disk, unwritable
from ...runtime.syncing import sync_folder
from ...runtime.writer_lock import WriterLock
from ..index import ModelIdentity
from . import derived_files, journal, segments
from .journal import Journal
from .segments import RowFormat

FORMAT = 2
"""The current format. Format 1 indexes words not folded by `likewise.text.words`; writers rebuild that index."""
CHECKSUM = "checksum"
DAMAGED = "the settings of this collection are damaged; restore the folder from a copy, or create it again"
DTYPES = ("float16", "float32")
JOURNAL_FILES = [journal.FILE + end for end in ("", "-wal", "-shm", "-journal")]  # -journal: only before WAL is enabled
LEFT_BY_CREATE = {writer_lock.FILE, segments.FOLDER, derived_files.FOLDER, *JOURNAL_FILES}


@dataclass(frozen=True)
class CollectionSettings:
    """The dimension, data type and model of the vectors. Rows have unit length; norms are stored separately."""

    layout: RowFormat
    model: ModelIdentity | None
    format: int = FORMAT

    @classmethod
    def of(cls, dimension: int, dtype: str, model: ModelIdentity | None, version: int = FORMAT) -> "CollectionSettings":
        """The settings, from the arguments of `Collection.create` or from a folder whose format is `version`."""
        return cls(RowFormat(dimension, np.dtype(known_name("dtype", dtype, DTYPES)).newbyteorder("<")), model, version)

    def rows(self) -> list[tuple[str, str]]:
        model = None if self.model is None else self.model.as_json()
        layout = {"width": self.layout.width, "dtype": self.layout.dtype.name, "normalized": True}
        values = {"format": self.format, **layout, "model": model}
        rows = [(name, json.dumps(value)) for name, value in values.items()]
        return [*rows, (CHECKSUM, settings_checksum(rows))]


def make_folder(folder: Path, settings: CollectionSettings) -> tuple[Journal, WriterLock]:
    """Create a collection on disk, in a folder that is new, empty, or left by a `create` that was killed."""
    _check_new(folder)
    try:
        for part in (segments.FOLDER, derived_files.FOLDER):
            (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    lock = WriterLock(folder)
    try:
        return _with_tables(folder, settings), lock
    except BaseException:
        lock.release()
        raise


def _check_new(folder: Path) -> None:
    if folder.is_symlink() and not folder.exists():
        raise BadInput(f"{folder} is a broken link; expected a new or an empty folder")
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; expected a new or an empty folder")
    if folder.is_dir() and (others := {path.name for path in folder.iterdir()} - LEFT_BY_CREATE):
        raise BadInput(f"{folder} contains other files, such as {min(others)}; expected a new or an empty folder")


def _with_tables(folder: Path, settings: CollectionSettings) -> Journal:
    with naming_full_disk(folder):
        made = Journal.create(folder / journal.FILE)
        if made.has_tables():
            made.close()
            raise BadInput(f"{folder} is already a collection; open it instead of creating it")
        with made.writing() as db:
            for statement in journal.SCHEMA:
                db.execute(statement)
            db.executemany("INSERT INTO settings VALUES (?, ?)", settings.rows())
        for path in (folder, folder.parent):
            sync_folder(path)
    return made


def read_settings(folder: Path, opened: Journal) -> CollectionSettings:
    if not opened.has_tables():
        raise BadInput(f"{folder} is not a collection: its creation was interrupted; create it again")
    try:
        with opened.reading() as db:
            rows = dict(db.execute("SELECT name, value FROM settings"))
        found = {name: json.loads(value) for name, value in rows.items()}
    except (ValueError, TypeError) as error:
        raise BadInput(f"{folder}: {DAMAGED}: {error}") from None
    if found.get("format") not in (1, FORMAT):
        raise BadInput(
            f"{folder} is a collection of format {found.get('format')}; this version of likewise reads formats 1 and "
            f"{FORMAT}"
        )
    if rows.pop(CHECKSUM, None) != settings_checksum(rows.items()) and found["format"] != 1:
        raise BadInput(f"{folder}: {DAMAGED}")
    model = None if found["model"] is None else ModelIdentity.from_json(found["model"])
    return CollectionSettings.of(found["width"], found["dtype"], model, found["format"])


def upgraded(opened: Journal, settings: CollectionSettings) -> CollectionSettings:
    """Rebuild the full-text index of an earlier format, in one transaction."""
    if settings.format == FORMAT:
        return settings
    with opened.writing() as db:
        db.execute("DROP TABLE words")
        for statement in journal.FULL_TEXT:
            db.execute(statement)
        db.execute("INSERT INTO words (words) VALUES ('rebuild')")
        db.execute("DELETE FROM settings")
        db.executemany("INSERT INTO settings VALUES (?, ?)", replace(settings, format=FORMAT).rows())
    return replace(settings, format=FORMAT)


def settings_checksum(rows: Iterable[tuple[str, str]]) -> str:
    return str(zlib.crc32(json.dumps(sorted(map(tuple, rows))).encode()))
