"""The folder of a collection: made, recognised, and the settings that never change."""

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
"""1 had the full text of words that were not folded by `likewise.text.words`; a writer makes it again."""
CHECKSUM = "checksum"
DAMAGED = "the settings of this collection are damaged; restore the folder from a copy, or make it again"
DTYPES = ("float16", "float32")
LEFT_BY_CREATE = {
    writer_lock.FILE,
    segments.FOLDER,
    derived_files.FOLDER,
    *(journal.FILE + end for end in ("", "-wal", "-shm")),
}


@dataclass(frozen=True)
class CollectionSettings:
    """What the rows are, and whose vectors; rows have length 1, and the lengths that vectors had lie beside them."""

    layout: RowFormat
    model: ModelIdentity | None
    format: int = FORMAT

    @classmethod
    def of(cls, dimension: int, dtype: str, model: ModelIdentity | None, version: int = FORMAT) -> "CollectionSettings":
        """Settings from what `Collection.create` is given, or from a folder of this format."""
        return cls(RowFormat(dimension, np.dtype(known_name("dtype", dtype, DTYPES)).newbyteorder("<")), model, version)

    def rows(self) -> list[tuple[str, str]]:
        """The rows of the table `settings`."""
        model = None if self.model is None else self.model.as_json()
        values = {
            "format": self.format,
            "width": self.layout.width,
            "dtype": self.layout.dtype.name,
            "normalized": True,
            "model": model,
        }
        rows = [(name, json.dumps(value)) for name, value in values.items()]
        return [*rows, (CHECKSUM, settings_checksum(rows))]


def make_folder(folder: Path, settings: CollectionSettings) -> tuple[Journal, WriterLock]:
    """Make a collection, on the disk, in a folder that is new, empty, or left by a `create` that was killed."""
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
        raise BadInput(f"{folder} is a link that leads nowhere; expected a new or an empty folder")
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; expected a new or an empty folder")
    if folder.is_dir() and (others := {path.name for path in folder.iterdir()} - LEFT_BY_CREATE):
        raise BadInput(f"{folder} has other files, such as {min(others)}; expected a new or an empty folder")


def _with_tables(folder: Path, settings: CollectionSettings) -> Journal:
    with naming_full_disk(folder):
        made = Journal.create(folder / journal.FILE)
        if made.has_tables():
            made.close()
            raise BadInput(f"{folder} is a collection already; open it")
        with made.writing() as db:
            for statement in journal.SCHEMA:
                db.execute(statement)
            db.executemany("INSERT INTO settings VALUES (?, ?)", settings.rows())
        for path in (folder, folder.parent):
            sync_folder(path)
    return made


def read_settings(folder: Path, opened: Journal) -> CollectionSettings:
    """The settings of a collection."""
    if not opened.has_tables():
        raise BadInput(f"{folder} is no collection: making it was not finished; make it again")
    try:
        with opened.reading() as db:
            rows = dict(db.execute("SELECT name, value FROM settings"))
        found = {name: json.loads(value) for name, value in rows.items()}
    except (ValueError, TypeError) as error:
        raise BadInput(f"{folder}: {DAMAGED}: {error}") from None
    if found.get("format") not in (1, FORMAT):
        raise BadInput(
            f"{folder} is a collection of format {found.get('format')}; this version of likewise reads 1 and {FORMAT}"
        )
    if rows.pop(CHECKSUM, None) != settings_checksum(rows.items()) and found["format"] != 1:
        raise BadInput(f"{folder}: {DAMAGED}")
    model = None if found["model"] is None else ModelIdentity.from_json(found["model"])
    return CollectionSettings.of(found["width"], found["dtype"], model, found["format"])


def upgraded(opened: Journal, settings: CollectionSettings) -> CollectionSettings:
    """Make the full text of an earlier format again, in one transaction."""
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
    """The CRC-32 of the names and values of settings."""
    return str(zlib.crc32(json.dumps(sorted(map(tuple, rows))).encode()))
