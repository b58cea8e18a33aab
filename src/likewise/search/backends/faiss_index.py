"""FaissIndex: exact search by faiss in memory, over a folder whose SQLite file is the truth [extra: faiss].

`records.sqlite` holds everything, vectors included, in WAL mode, synced before a call returns. faiss holds the rows in
memory, and catches up with the file before each search, whichever process wrote to it.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64, Shaped

from ...errors import BadInput
from ...runtime.arguments import whole_number
from ...runtime.atomic_files import target_folder
from ...runtime.installation import missing_extra
from ..exact import UnitRows, checked_queries
from ..filters import named_columns, parse_filter, sqlite_where
from ..index import Index, Match, ModelIdentity
from ..records import Records, check_ids, checked_records
from .common import (
    as_matches,
    check_new,
    check_not_read_only,
    found_in_order,
    id_list,
    metadata_json,
    unknown_filter_column,
)

SCHEME = "faiss:"
FILE = "records.sqlite"
LOCK_SECONDS = 30.0  # of waiting for another process that writes
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


class FaissRecords:
    """One connection to the file, for any thread; a call is one transaction, synced to the disk before it returns."""

    def __init__(self, location: str, path: Path, *, read_only: bool = False) -> None:
        self.location, self._read_only, self._lock = location, read_only, RLock()
        try:
            self._file = sqlite3.connect(path, isolation_level=None, timeout=LOCK_SECONDS, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            raise BadInput(f"{path} cannot be opened: {error}") from None

    @classmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None) -> "FaissRecords":
        """Make the folder and the file."""
        path = _path(location)
        if path.parent.exists() and not (path.parent.is_dir() and _holds_only(path.parent, FILE)):
            raise BadInput(f"{location} is there already; expected a new or an empty folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        records = cls(location, path)
        try:
            records._describe(dimension, model)
        except BaseException:
            records.close()
            raise
        return records

    @classmethod
    def open(cls, location: str, *, read_only: bool) -> "FaissRecords":
        """Open the file."""
        path = _path(location)
        records = cls(location, path, read_only=read_only) if path.is_file() else None
        if records is None or not records._is_described():
            raise BadInput(f"{location} is no index of faiss; expected a folder with the file {FILE}")
        return records

    def _describe(self, dimension: int, model: ModelIdentity | None) -> None:
        with self.transaction(writing=True) as file:
            if self._is_described():
                raise BadInput(f"{self.location} is there already; open it, or choose another folder")
            for table in SCHEMA:
                file.execute(table)
            described = None if model is None else json.dumps(model.as_json())
            file.execute("INSERT INTO description VALUES (?, ?)", [dimension, described])

    def _is_described(self) -> bool:
        """Whether `create` got as far as its commit."""
        return self._file.execute("SELECT 1 FROM sqlite_master WHERE name = 'description'").fetchone() is not None

    def description(self) -> tuple[int, ModelIdentity | None]:
        """Dimension and model."""
        dimension, model = self._file.execute("SELECT width, model FROM description").fetchone()
        return dimension, None if model is None else ModelIdentity.from_json(json.loads(model))

    @contextmanager
    def transaction(self, *, writing: bool = False) -> Iterator[sqlite3.Connection]:
        """The connection in a transaction: one writer at a time; readers see one state."""
        check_not_read_only(self.location, writing and self._read_only)
        with self._lock:
            try:
                self._file.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                yield self._file
                self._file.execute("COMMIT")
            except BaseException as error:
                if self._file.in_transaction:
                    self._file.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise BadInput(f"{self.location}: {error}; nothing of this call was stored") from None
                raise

    def insert(self, records: Records, *, replace: bool) -> None:
        """Store records, new ones alone unless `replace`."""
        with self.transaction(writing=True) as file:
            names = [json.dumps(list(records.ids))]
            if replace:
                file.execute(f"DELETE FROM records WHERE {OF_IDS}", names)
            else:
                found = file.execute(f"SELECT id FROM records WHERE {OF_IDS} LIMIT 1", names)
                check_new((row[0] for row in found.fetchall()), self.location)
            file.executemany(f"INSERT INTO records ({COLUMNS}) VALUES (?, ?, ?, ?, ?)", _rows(records))

    def delete(self, ids: Sequence[str]) -> int:
        """Delete by id."""
        with self.transaction(writing=True) as file:
            return file.execute(f"DELETE FROM records WHERE {OF_IDS}", [json.dumps(list(ids))]).rowcount

    def get(self, ids: Sequence[str]) -> Records:
        """The records with these ids, in their order."""
        with self.transaction() as file:
            found = file.execute(f"SELECT {COLUMNS} FROM records WHERE {OF_IDS}", [json.dumps(list(ids))])
            rows = {row[0]: row for row in found}
        return _read(found_in_order(ids, rows, self.location), self.description()[0])

    def blocks(self, size: int) -> Iterator[Records]:
        """All records, a block at a time."""
        query, after = f"SELECT {COLUMNS}, position FROM records WHERE position > ? ORDER BY position LIMIT ?", -1
        while rows := self._file.execute(query, [after, size]).fetchall():
            after = rows[-1][-1]
            yield _read(rows, self.description()[0])

    def unit_blocks(
        self, size: int, after: int
    ) -> Iterator[tuple[Int64[np.ndarray, " n"], Float32[np.ndarray, "n E"]]]:
        """Positions and rows of length 1 of all records behind a position, a block at a time."""
        query = "SELECT position, vector FROM records WHERE position > ? ORDER BY position LIMIT ?"
        while rows := self._file.execute(query, [after, size]).fetchall():
            after = rows[-1][0]
            vectors = np.frombuffer(b"".join(row[1] for row in rows), np.float32)
            yield np.array([row[0] for row in rows], np.int64), vectors.reshape(len(rows), -1)

    def positions(self, where: str | None = None) -> Int64[np.ndarray, " n"]:
        """Of all records, or of those that pass the filter, in order."""
        expression, values = self._condition(where)
        found = self._file.execute(f"SELECT position FROM records WHERE {expression} ORDER BY position", values)
        return np.fromiter((row[0] for row in found), np.int64)

    def count(self, where: str | None = None) -> int:
        """How many there are, or how many pass the filter."""
        expression, values = self._condition(where)
        return int(self._file.execute(f"SELECT count(*) FROM records WHERE {expression}", values).fetchone()[0])

    def ids(self, positions: Int64[np.ndarray, " n"]) -> dict[int, str]:
        """The ids at these positions."""
        query = "SELECT position, id FROM records WHERE position IN (SELECT value FROM json_each(?))"
        return dict(self._file.execute(query, [json.dumps(positions.tolist())]))

    def version(self) -> int:
        """A number that changes when another connection commits."""
        return int(self._file.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _condition(self, where: str | None) -> tuple[str, list[Any]]:
        if where is None:
            return "1", []
        condition = parse_filter(where)
        for name in named_columns(condition):
            known = "SELECT 1 FROM records WHERE json_type(metadata, ?) IS NOT NULL LIMIT 1"
            if self._file.execute(known, [f'$."{name}"']).fetchone() is None:
                raise unknown_filter_column(name, self.location)
        return sqlite_where(condition)


def _path(location: str) -> Path:
    if not location.startswith(SCHEME):
        raise BadInput(f"the location of an index of faiss is {location!r}; expected {SCHEME}FOLDER")
    return target_folder(location.removeprefix(SCHEME)) / FILE


def _holds_only(folder: Path, name: str) -> bool:
    return all(path.name.startswith(name) for path in folder.iterdir())


def _rows(records: Records) -> Iterator[tuple[Any, ...]]:
    stored = UnitRows.of(np.asarray(records.vectors))
    for i, name in enumerate(records.ids):
        text = None if records.texts is None else records.texts[i]
        metadata = metadata_json({} if records.metadata is None else records.metadata[i])
        yield name, text, metadata, float(stored.lengths[i]), stored.rows[i].tobytes()


def _read(rows: Sequence[tuple[Any, ...]], dimension: int) -> Records:
    vectors = np.frombuffer(b"".join(row[4] for row in rows), np.float32).reshape(len(rows), dimension)
    original = UnitRows(vectors, np.array([row[3] for row in rows], np.float64)).original()
    return Records([row[0] for row in rows], original, [row[1] for row in rows], [json.loads(row[2]) for row in rows])


try:
    import faiss
except ImportError:
    raise missing_extra("faiss-cpu", "faiss", "an index of faiss") from None

LOAD_BLOCK = 10_000  # rows read at a time when faiss catches up


class FaissIndex(Index):
    """An IndexFlatIP of rows of length 1, numbered by their positions in the SQLite file."""

    def __init__(self, records: FaissRecords) -> None:
        self._records, self.location = records, records.location
        self.dimension, self.model = records.description()
        self._rows: Any = faiss.IndexIDMap2(faiss.IndexFlatIP(self.dimension))
        self._positions = np.empty(0, np.int64)
        self._version: int | None = None

    @classmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None = None) -> "FaissIndex":
        return cls(FaissRecords.create(location, whole_number("dimension", dimension), model))

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "FaissIndex":
        return cls(FaissRecords.open(location, read_only=read_only))

    def add(self, records: Records) -> None:
        self._version = None
        self._records.insert(checked_records(records, self.dimension), replace=False)

    def upsert(self, records: Records) -> None:
        self._version = None
        self._records.insert(checked_records(records, self.dimension), replace=True)

    def delete(self, ids: Sequence[str]) -> int:
        check_ids(ids)
        self._version = None
        return self._records.delete(ids)

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """The greatest inner products of rows of length 1; with a filter, of the rows that SQLite lets pass."""
        rows, k = checked_queries(queries, self.dimension), whole_number("k", k)
        with self._records.transaction():
            self._catch_up()
            passing = None if where is None else self._records.positions(where)
            k = min(k, self._rows.ntotal if passing is None else len(passing))
            if not k or not len(rows):
                return [[] for _ in rows]
            scores, positions = self._rows.search(rows, k, params=_only(passing))
            names = self._records.ids(np.unique(positions))
        ranked = (sorted(zip(-row, found, strict=True)) for row, found in zip(scores, positions, strict=True))
        return [as_matches((names[int(position)], -loss) for loss, position in pairs) for pairs in ranked]

    def get(self, ids: Sequence[str]) -> Records:
        return self._records.get(id_list(ids))

    def records(self, block: int = 1000) -> Iterator[Records]:
        return self._records.blocks(whole_number("block", block))

    def count(self, where: str | None = None) -> int:
        """How many records the file has, or how many pass the filter."""
        return self._records.count(where)

    def close(self) -> None:
        self._records.close()
        self._rows.reset()

    def _catch_up(self) -> None:
        """Let faiss hold the file's rows: remove what is gone, and add what is behind the last position."""
        version = self._records.version()
        if version == self._version:
            return
        self._version = None  # should this be interrupted, the next search begins anew
        if self._rows.ntotal != len(self._positions):
            self._rows.reset()
            self._positions = np.empty(0, np.int64)
        current = self._records.positions()
        gone = np.setdiff1d(self._positions, current, assume_unique=True)
        if len(gone):
            self._rows.remove_ids(faiss.IDSelectorBatch(gone))
            self._positions = np.setdiff1d(self._positions, gone, assume_unique=True)
        last = int(self._positions[-1]) if len(self._positions) else -1
        for positions, rows in self._records.unit_blocks(LOAD_BLOCK, last):
            self._rows.add_with_ids(rows, positions)
            self._positions = np.concatenate([self._positions, positions])
        self._version = version


def _only(positions: Int64[np.ndarray, " n"] | None) -> Any:
    """Parameters of a search among these positions alone; None: among all."""
    return None if positions is None else faiss.SearchParameters(sel=faiss.IDSelectorBatch(positions))
