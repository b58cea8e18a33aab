"""FaissIndex: exact search with faiss in memory, backed by a SQLite file as the source of truth [extra: faiss].

`records.sqlite` holds everything including vectors, in WAL mode, and is synced before a call returns. faiss holds the
rows in memory and catches up with the file, which other processes may have changed, before each search.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from ...array_types import Int64, Shaped
from ...errors import BadInput
from ...runtime.arguments import found_in_order, whole_number
from ...runtime.atomic_files import target_folder
from ...runtime.installation import missing_extra
from ..exact import checked_queries
from ..filters.languages import sqlite_where
from ..index import Index, Match, ModelIdentity
from ..records import Records, check_ids, checked_records, listed_ids
from .common import (
    as_matches,
    check_new,
    check_not_read_only,
    checked_filter,
    metadata_json,
    stored_columns,
    stored_records,
)

try:
    import faiss
except ImportError:
    raise missing_extra("faiss-cpu", "faiss", "a faiss index") from None

SCHEME = "faiss:"
FILE = "records.sqlite"
LOCK_SECONDS = 30.0  # seconds to wait for another process to finish writing
LOAD_BLOCK = 10_000  # rows read from the file at a time
SCHEMA = (
    "CREATE TABLE description (width INTEGER NOT NULL, model TEXT)",
    """CREATE TABLE records (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    text TEXT,
    metadata TEXT NOT NULL,
    length REAL NOT NULL,
    vector BLOB NOT NULL
)""",
)
COLUMNS = "id, text, metadata, length, vector"
OF_IDS = "id IN (SELECT value FROM json_each(?))"


class FaissIndex(Index):
    """Rows in faiss, keyed by their positions in the file. Threads may share an index; each call is one transaction."""

    def __init__(self, location: str, path: Path, *, read_only: bool = False) -> None:
        self.location, self._read_only, self._lock = location, read_only, RLock()
        self._positions = np.empty(0, np.int64)
        self._version: int | None = None
        try:
            self._file = sqlite3.connect(path, isolation_level=None, timeout=LOCK_SECONDS, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            raise BadInput(f"{path} cannot be opened: {error}") from None

    @classmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None = None) -> "FaissIndex":
        path, dimension = _path(location), whole_number("dimension", dimension)
        folder = path.parent
        if folder.exists() and not (folder.is_dir() and all(file.name.startswith(FILE) for file in folder.iterdir())):
            raise BadInput(f"{location} already exists; expected a new or an empty folder")
        folder.mkdir(parents=True, exist_ok=True)
        index = cls(location, path)
        try:
            with index._transaction(writing=True) as file:
                if index._is_described():
                    raise BadInput(f"{location} already exists; open it, or choose another folder")
                for table in SCHEMA:
                    file.execute(table)
                described = None if model is None else json.dumps(model.as_json())
                file.execute("INSERT INTO description VALUES (?, ?)", [dimension, described])
        except BaseException:
            index._file.close()
            raise
        return index._ready()

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "FaissIndex":
        path = _path(location)
        index = cls(location, path, read_only=read_only) if path.is_file() else None
        if index is None or not index._is_described():
            raise BadInput(f"{location} is not a faiss index; expected a folder with the file {FILE}")
        return index._ready()

    def _is_described(self) -> bool:
        """Whether `create` committed the description."""
        return self._file.execute("SELECT 1 FROM sqlite_master WHERE name = 'description'").fetchone() is not None

    def _ready(self) -> "FaissIndex":
        self.dimension, model = self._file.execute("SELECT width, model FROM description").fetchone()
        self.model = None if model is None else ModelIdentity.from_json(json.loads(model))
        self._rows: Any = faiss.IndexIDMap2(faiss.IndexFlatIP(self.dimension))
        return self

    def add(self, records: Records) -> None:
        self._insert(checked_records(records, self.dimension), replace=False)

    def upsert(self, records: Records) -> None:
        self._insert(checked_records(records, self.dimension), replace=True)

    def _insert(self, records: Records, *, replace: bool) -> None:
        with self._transaction(writing=True) as file:
            names = [json.dumps(list(records.ids))]
            if replace:
                file.execute(f"DELETE FROM records WHERE {OF_IDS}", names)
            else:
                found = file.execute(f"SELECT id FROM records WHERE {OF_IDS} LIMIT 1", names)
                check_new((row[0] for row in found.fetchall()), self.location)
            rows = (
                (name, text, metadata_json(metadata), length, vector.tobytes())
                for name, text, metadata, length, vector in stored_columns(records)
            )
            file.executemany(f"INSERT INTO records ({COLUMNS}) VALUES (?, ?, ?, ?, ?)", rows)

    def delete(self, ids: Sequence[str]) -> int:
        check_ids(ids)
        with self._transaction(writing=True) as file:
            return file.execute(f"DELETE FROM records WHERE {OF_IDS}", [json.dumps(list(ids))]).rowcount

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """The records with the greatest inner products; with a filter, only among rows that SQLite selects."""
        rows, k = checked_queries(queries, self.dimension), whole_number("k", k)
        with self._transaction() as file:
            self._catch_up()
            passing = None if where is None else self._positions_passing(where)
            k = min(k, self._rows.ntotal if passing is None else len(passing))
            if not k or not len(rows):
                return [[] for _ in rows]
            among = None if passing is None else faiss.SearchParameters(sel=faiss.IDSelectorBatch(passing))
            scores, positions = self._rows.search(rows, k, params=among)
            query = "SELECT position, id FROM records WHERE position IN (SELECT value FROM json_each(?))"
            names = dict(file.execute(query, [json.dumps(np.unique(positions).tolist())]))
        ranked = (sorted(zip(-row, found, strict=True)) for row, found in zip(scores, positions, strict=True))
        return [as_matches((names[int(position)], -loss) for loss, position in pairs) for pairs in ranked]

    def get(self, ids: Sequence[str]) -> Records:
        names = listed_ids(ids)
        texts = [one for one in names if isinstance(one, str)]  # only strings can be ids of records
        with self._transaction() as file:
            found = file.execute(f"SELECT {COLUMNS} FROM records WHERE {OF_IDS}", [json.dumps(texts)])
            rows = {row[0]: row for row in found}
        return self._records(found_in_order(names, rows, self.location))

    def records(self, block: int = 1000) -> Iterator[Records]:
        size, after, seen = whole_number("block", block), 0, set[str]()
        while True:
            with self._transaction():  # one per block, so that the caller may write between blocks
                rows = next(self._blocks(COLUMNS, size, after), [])
            if not rows:
                return
            after = rows[-1][-1]
            new = [row for row in rows if row[0] not in seen]  # an upsert between blocks moves a record to the end
            seen.update(row[0] for row in new)
            if new:
                yield self._records(new)

    def count(self, where: str | None = None) -> int:
        """The number of records in the file, or the number that pass the filter."""
        with self._transaction() as file:  # waits until no other thread is in a call
            expression, values = self._condition(where)
            return int(file.execute(f"SELECT count(*) FROM records WHERE {expression}", values).fetchone()[0])

    def close(self) -> None:
        self._file.close()
        self._rows.reset()

    @contextmanager
    def _transaction(self, *, writing: bool = False) -> Iterator[sqlite3.Connection]:
        """Open a transaction: one writer at a time; each reader sees a consistent state."""
        check_not_read_only(self.location, writing and self._read_only)
        with self._lock:
            self._version = None if writing else self._version
            try:
                self._file.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                yield self._file
                self._file.execute("COMMIT")
            except BaseException as error:
                if self._file.in_transaction:
                    self._file.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise BadInput(f"{self.location}: {error}; nothing from this call was stored") from None
                raise

    def _blocks(self, columns: str, size: int, after: int) -> Iterator[list[tuple[Any, ...]]]:
        """The columns and positions (from 1) of all records after a position, one block at a time."""
        query = f"SELECT {columns}, position FROM records WHERE position > ? ORDER BY position LIMIT ?"
        while rows := self._file.execute(query, [after, size]).fetchall():
            after = rows[-1][-1]
            yield rows

    def _records(self, rows: Sequence[tuple[Any, ...]]) -> Records:
        return stored_records(rows, self.dimension, vector=lambda blob: np.frombuffer(blob, np.float32))

    def _positions_passing(self, where: str | None) -> Int64[np.ndarray, " n"]:
        expression, values = self._condition(where)
        found = self._file.execute(f"SELECT position FROM records WHERE {expression} ORDER BY position", values)
        return np.fromiter((row[0] for row in found), np.int64)

    def _condition(self, where: str | None) -> tuple[str, list[Any]]:
        if where is None:
            return "1", []
        known = "SELECT 1 FROM records WHERE json_type(metadata, ?) IS NOT NULL LIMIT 1"

        def has_column(name: str) -> Any:
            return self._file.execute(known, [f'$."{name}"']).fetchone()

        return sqlite_where(checked_filter(where, self.location, has_column))

    def _catch_up(self) -> None:
        """Bring faiss up to date with the file: remove deleted rows, and add rows after the last position."""
        version = int(self._file.execute("PRAGMA data_version").fetchone()[0])  # counts other connections' commits
        if version == self._version:
            return
        self._version = None  # if this is interrupted, the next search starts over
        if self._rows.ntotal != len(self._positions):
            self._rows.reset()
            self._positions = np.empty(0, np.int64)
        gone = np.setdiff1d(self._positions, self._positions_passing(None), assume_unique=True)
        if len(gone):
            self._rows.remove_ids(faiss.IDSelectorBatch(gone))
            self._positions = np.setdiff1d(self._positions, gone, assume_unique=True)
        last = int(self._positions[-1]) if len(self._positions) else 0
        for rows in self._blocks("vector", LOAD_BLOCK, last):
            positions = np.array([position for _, position in rows], np.int64)
            vectors = np.frombuffer(b"".join(vector for vector, _ in rows), np.float32)
            self._rows.add_with_ids(vectors.reshape(len(rows), -1), positions)
            self._positions = np.concatenate([self._positions, positions])
        self._version = version


def _path(location: str) -> Path:
    if not location.startswith(SCHEME):
        raise BadInput(f"the location of a faiss index is {location!r}; expected {SCHEME}FOLDER")
    return target_folder(location.removeprefix(SCHEME)) / FILE
