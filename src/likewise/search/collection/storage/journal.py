"""Journal: the SQLite file of a collection, in WAL mode: transactions, what its errors mean, and its tables."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock

from ....errors import BadInput

FILE = "collection.sqlite"
WAIT = 60.0  # seconds for another process's transaction to end
CACHE_BYTES = 1 << 26  # of pages in memory; ids are sorted by their hashes, so that a block of rows touches most pages
PAGE_BYTES = 1 << 12  # SQLite's default
WAL_BYTES = 1 << 26  # of the write-ahead log before it is copied into the file, and that stay on the disk after that

SCHEMA = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE segments (number INTEGER PRIMARY KEY AUTOINCREMENT, rows INTEGER NOT NULL)",
    """CREATE TABLE records (
        key INTEGER PRIMARY KEY,
        row INTEGER NOT NULL UNIQUE,
        id TEXT NOT NULL UNIQUE,
        text TEXT,
        metadata TEXT,
        length REAL NOT NULL,
        vector_checksum INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    "CREATE TABLE tombstones (position INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER NOT NULL UNIQUE)",
    "CREATE TABLE columns (name TEXT PRIMARY KEY, records INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE state (version INTEGER NOT NULL)",
    "INSERT INTO state VALUES (0)",
    """CREATE VIRTUAL TABLE words
        USING fts5(text, content='records', content_rowid='key', tokenize='unicode61 remove_diacritics 2')""",
)
"""A row of `records` is alive. `row` is the place of its vector: the number of its segment times SEGMENT_ROWS, plus the
place in there. A row that no record has is a tombstone. `columns` counts the records that have each name of metadata,
and `version` the transactions."""

MEANINGS = {
    "SQLITE_FULL": "the disk is full; nothing of this call was stored, and all that was stored before still is",
    "SQLITE_IOERR": "the disk cannot be read or written, or is full; nothing of this call was stored",
    "SQLITE_CORRUPT": "it is damaged; verify() lists what is, repair() keeps what is good",
    "SQLITE_NOTADB": "it is damaged, or no file of SQLite",
    "SQLITE_BUSY": "another process has kept it locked for a minute",
    "SQLITE_READONLY": "it may not be written",
    "SQLITE_CANTOPEN": "it cannot be opened",
}
"""What SQLite's errors mean, by the beginnings of their names."""


class Journal:
    """One connection, for one thread at a time. Transactions of writers exclude each other, across processes too."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path, self.read_only = path, read_only
        self._lock = RLock()
        self._depth, self._process = 0, os.getpid()
        with self.naming_errors():
            self.db = sqlite3.connect(
                self._uri(), uri=True, isolation_level=None, timeout=WAIT, check_same_thread=False
            )
            self._configure()

    def _uri(self) -> str:
        """Where nothing can be written, SQLite must not try to create the files that go with a WAL."""
        wal = self.path.with_name(f"{FILE}-wal")
        if not self.read_only or os.access(self.path.parent, os.W_OK):
            return f"{self.path.absolute().as_uri()}?mode=rw"
        unused = not wal.exists() or not wal.stat().st_size
        return f"{self.path.absolute().as_uri()}?mode=ro" + "&immutable=1" * unused

    def _configure(self) -> None:
        for pragma in (
            "synchronous = FULL",
            "fullfsync = ON",
            f"journal_size_limit = {WAL_BYTES}",
            f"wal_autocheckpoint = {WAL_BYTES // PAGE_BYTES}",
            f"cache_size = {-CACHE_BYTES // 1024}",
        ):
            self.db.execute(f"PRAGMA {pragma}")
        if self.read_only:
            self.db.execute("PRAGMA query_only = ON")

    @classmethod
    def create(cls, path: Path) -> "Journal":
        """A new file without tables, or what a killed `create` left of one."""
        path.touch()
        journal = cls(path)
        with journal.naming_errors():
            journal.db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            journal.db.execute("PRAGMA journal_mode = WAL")
        return journal

    def has_tables(self) -> bool:
        """Whether `SCHEMA` was committed."""
        with self.naming_errors():
            return self.db.execute("SELECT 1 FROM sqlite_master WHERE name = 'settings'").fetchone() is not None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one state, whatever others write meanwhile; inside another it is part of that."""
        with self._lock, self.naming_errors():
            if self._depth:
                yield self.db
                return
            with self._transaction("BEGIN"):
                yield self.db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is on the disk when the block has ended; if the block fails, nothing has happened."""
        with self._lock, self.naming_errors(), self._transaction("BEGIN IMMEDIATE"):
            yield self.db
            self.db.execute("UPDATE state SET version = version + 1")

    @contextmanager
    def checking(self) -> Iterator[sqlite3.Connection]:
        """A transaction for checks that SQLite allows to writers alone; it changes nothing that readers see."""
        with self._lock, self.naming_errors(), self._transaction("BEGIN IMMEDIATE"):
            yield self.db

    @contextmanager
    def undoable(self) -> Iterator[None]:
        """Inside a transaction: a part that is taken back alone if it fails."""
        self.db.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            if self.db.in_transaction:  # a full disk may have ended it
                self.db.execute("ROLLBACK TO part")
            raise
        self.db.execute("RELEASE part")

    def use_log(self) -> None:
        """Write ahead into a log, as new files do, where `leave_log` has ended that."""
        with self._lock, self.naming_errors():
            self.db.execute("PRAGMA journal_mode = WAL").fetchall()

    def leave_log(self) -> None:
        """Copy the write-ahead log into the file and remove it, so that the file may get another name.

        SQLite finds the log by its name: under another it would not belong to the file any more.

        Raises:
            BadInput: the file is open elsewhere.
        """
        with self._lock, self.naming_errors():
            self.db.execute("PRAGMA busy_timeout = 0")
            try:
                self.db.execute("PRAGMA journal_mode = DELETE").fetchall()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname not in ("SQLITE_BUSY", "SQLITE_LOCKED"):
                    raise
                raise BadInput(f"{self.path.parent} is open elsewhere, and cannot be moved; close it there") from None
            finally:
                self.db.execute(f"PRAGMA busy_timeout = {1000 * WAIT:.0f}")

    def return_space(self) -> None:
        """Return unused pages to the disk, and empty the write-ahead log unless a reader still needs it."""
        with self._lock, self.naming_errors():
            self.db.execute("PRAGMA incremental_vacuum").fetchall()
            self.db.execute("PRAGMA busy_timeout = 0")
            try:
                self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self.db.execute(f"PRAGMA busy_timeout = {1000 * WAIT:.0f}")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        if os.getpid() != self._process:
            raise BadInput(f"{self.path.parent} was opened by the process {self._process}, which forked; open it again")
        self.db.execute(begin)
        self._depth += 1
        try:
            yield
            self.db.execute("COMMIT")
        finally:
            self._depth -= 1
            if self.db.in_transaction:
                with suppress(sqlite3.Error):
                    self.db.execute("ROLLBACK")

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Report errors of SQLite as BadInput that name the file and say what to do."""
        try:
            yield
        except (sqlite3.DatabaseError, sqlite3.ProgrammingError) as error:
            if "no such module: fts5" in str(error):
                raise BadInput("the SQLite of this Python has no full text (FTS5), which a collection needs") from None
            name = getattr(error, "sqlite_errorname", None) or ""
            meaning = next((text for beginning, text in MEANINGS.items() if name.startswith(beginning)), None)
            if meaning is None:
                raise
            raise BadInput(f"{self.path}: {meaning} ({name}: {error})") from None

    def close(self) -> None:
        """Close the connection, unless it is that of a process that forked."""
        if os.getpid() == self._process:
            with self._lock:
                self.db.close()
