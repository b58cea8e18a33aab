"""Journal: the SQLite file of a collection, in WAL mode, with its tables, transactions and error messages."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import RLock
from time import monotonic, sleep

from ...errors import BadInput
from ...runtime.cancellation import cancellable_sql
from ...text.words import fold

FILE = "collection.sqlite"
WAIT = 60.0  # seconds to wait for another process's transaction
CACHE_BYTES = 1 << 26  # SQLite's page cache; ids are in hash order, so a block of rows touches most pages
PAGE_BYTES = 1 << 12  # SQLite's default
LOG_WAIT = 5.0  # seconds to wait for another process to make its log readable
LOG_NOT_READY = ("SQLITE_READONLY_CANTINIT", "SQLITE_READONLY_RECOVERY", "SQLITE_PROTOCOL")
LOG_MISSING = ("SQLITE_READONLY_DIRECTORY", "SQLITE_CANTOPEN")  # the log is missing and cannot be created
WAL_BYTES = 1 << 26  # size at which the write-ahead log is copied into the file, and to which it is then truncated

FULL_TEXT = (
    "CREATE VIEW folded AS SELECT key, iif(text IS NULL, NULL, fold(text)) AS text FROM records",
    """CREATE VIRTUAL TABLE words
        USING fts5(text, content='folded', content_rowid='key', tokenize="ascii tokenchars '_'")""",
)
"""FTS5 over the folded texts. Its `ascii` tokenizer treats every non-ASCII character as part of a word, so that `fold`
alone decides what a word is; `unicode61` splits words at combining marks, and only knows Unicode as of 2012."""
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
    *FULL_TEXT,
)
"""Rows of `records` are live. `row` is the position of a vector: the number of its segment times SEGMENT_ROWS, plus its
position in the segment. Rows without a record are tombstones. `columns` counts the records that have each metadata
name, and `version` counts the transactions."""

MEANINGS = {
    "SQLITE_FULL": "the disk is full; nothing from this call was stored, and everything stored before is intact",
    "SQLITE_IOERR": "the disk cannot be read or written, or is full; nothing from this call was stored",
    "SQLITE_CORRUPT": "it is damaged; verify() lists the damage, and repair() keeps the intact records",
    "SQLITE_NOTADB": "it is damaged, or it is not a SQLite file",
    "SQLITE_ERROR": "it is damaged, or was written in the format of another version; verify() lists the damage",
    "SQLITE_BUSY": "another process has kept it locked for a minute",
    "SQLITE_READONLY_DIRECTORY": "this user cannot read its log; open it once as a user who may write to its folder",
    "SQLITE_READONLY_RECOVERY": "a writer was killed; open it once as a user who may write to its folder",
    "SQLITE_READONLY": "this user may not write to it",
    "SQLITE_CANTOPEN": "it cannot be opened",
}
"""What SQLite's errors mean, keyed by the beginning of the error's name."""

FileState = tuple[int, int, int, int]
"""A file's inode, size, and times of the last change to its content and its status."""


class Journal:
    """One connection, for one thread at a time. Only one write transaction can run at a time, even across processes."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path, self.read_only = path, read_only
        self.lock = RLock()
        self.depth, self._process = 0, os.getpid()
        self._unlocked: FileState | None = None
        """The state of the file when `_connect_reader` opened it without locks."""
        with self.naming_errors():
            if read_only:
                self._connect_reader()
            else:
                self._connect("mode=rw")

    def _connect_reader(self) -> None:
        """Connect with locks, or without them if SQLite's log files are missing and this user may not create them.

        A writer leaves these files (`keep_log_files`), so they are only missing if an earlier version wrote the folder
        or it was copied without them. SQLite then assumes that there is no writer, and `reading` checks this.
        """
        self._unlocked = None
        try:
            self._connect("mode=ro")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith(LOG_MISSING) or self._log_bytes():
                raise
            self.db.close()
            self._unlocked = self._file_state()
            self._connect("mode=ro&immutable=1")

    def _connect(self, options: str) -> None:
        uri = f"{self.path.absolute().as_uri()}?{options}"
        self.db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=WAIT, check_same_thread=False)
        self.db.create_function("fold", 1, fold, deterministic=True)
        if self.read_only:
            self._take_snapshot()  # reads the schema, which the settings below need
        log = f"journal_size_limit = {WAL_BYTES}", f"wal_autocheckpoint = {WAL_BYTES // PAGE_BYTES}"
        for pragma in ("synchronous = FULL", "fullfsync = ON", *log, f"cache_size = {-CACHE_BYTES // 1024}"):
            self.db.execute(f"PRAGMA {pragma}")

    @classmethod
    def create(cls, path: Path) -> "Journal":
        """Open a new file without tables, or one left by a killed `create`."""
        path.touch()
        journal = cls(path)
        with journal.naming_errors():
            journal.db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            journal.db.execute("PRAGMA journal_mode = WAL")
        return journal

    def has_tables(self) -> bool:
        """Whether `SCHEMA` was committed."""
        with self.reading() as db:
            return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'settings'").fetchone() is not None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one state despite concurrent writes; a nested one joins the outer transaction."""
        with self.lock:
            if self.depth:
                yield self.db
                return
            if self._unlocked and (self._file_state() != self._unlocked or self._log_bytes()):
                self.db.close()
                with self.naming_errors():
                    self._connect_reader()
            try:
                with self._transaction("BEGIN"):
                    self._take_snapshot()
                    with cancellable_sql(self.db):
                        yield self.db
            except Exception:
                self.check_unchanged()
                raise
            self.check_unchanged()

    def _take_snapshot(self) -> None:
        """Begin a consistent read; retries, because a log just opened by another process is unreadable for a moment."""
        end = monotonic() + LOG_WAIT
        while True:
            try:
                self.db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname not in LOG_NOT_READY or monotonic() > end:
                    raise
            sleep(0.01)

    def check_unchanged(self) -> None:
        """Raise an error if another process wrote during an unlocked read."""
        if self._unlocked and self._file_state() != self._unlocked:
            raise BadInput(
                f"{self.path.parent} was written by another process while it was being read; it could not be locked, "
                f"because {FILE}-wal and {FILE}-shm are missing and this user may not create them; read it again"
            )

    def _file_state(self) -> FileState:
        state = self.path.stat()
        return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns

    def _log_bytes(self) -> int:
        log = self.path.with_name(f"{FILE}-wal")
        return log.stat().st_size if log.exists() else 0

    def keep_log_files(self) -> None:
        """After `close`: leave empty log files, so that users without write permission can lock and read.

        SQLite removes these files when the last connection is closed. They get the journal's owner and mode, like the
        files that SQLite creates.
        """
        state = self.path.stat()
        for path in (self.path.with_name(f"{FILE}{end}") for end in ("-wal", "-shm")):
            if not path.exists():
                with suppress(OSError):
                    path.touch()
                    path.chmod(stat.S_IMODE(state.st_mode))
                    if hasattr(os, "chown"):
                        os.chown(path, state.st_uid, state.st_gid)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is on disk when the `with` block ends; if the block fails, nothing changes."""
        with self.checking():
            yield self.db
            self.db.execute("UPDATE state SET version = version + 1")

    def checking(self) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction for checks that SQLite only allows writers to make; it changes nothing that readers see."""
        return self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def any_text(self) -> Iterator[None]:
        """Read invalid UTF-8 with U+FFFD for damaged bytes instead of failing."""
        with self.lock:
            self.db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            try:
                yield
            finally:
                self.db.text_factory = str

    @contextmanager
    def undoable(self) -> Iterator[None]:
        """A part of a transaction that is rolled back on its own if it fails."""
        self.db.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            if self.db.in_transaction:  # a full disk may have ended the transaction
                self.db.execute("ROLLBACK TO part")
            raise
        self.db.execute("RELEASE part")

    def use_log(self) -> None:
        """Return to write-ahead logging after `leave_log`."""
        with self.lock, self.naming_errors():
            self.db.execute("PRAGMA journal_mode = WAL").fetchall()

    def leave_log(self) -> None:
        """Copy the write-ahead log into the file and remove it, so that the file can be renamed.

        SQLite finds the log by name, so after renaming it would no longer belong to the file.
        """
        with self.lock, self.naming_errors():
            self.db.execute("PRAGMA busy_timeout = 0")
            try:
                self.db.execute("PRAGMA journal_mode = DELETE").fetchall()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname not in ("SQLITE_BUSY", "SQLITE_LOCKED"):
                    raise
                raise BadInput(
                    f"{self.path.parent} is open in another process and cannot be moved; close it there"
                ) from None
            finally:
                self.db.execute(f"PRAGMA busy_timeout = {1000 * WAIT:.0f}")

    def return_space(self) -> None:
        """Return unused pages to the disk, and empty the write-ahead log unless a reader still needs it."""
        with self.lock, self.naming_errors():
            self.db.execute("PRAGMA incremental_vacuum").fetchall()
            self.db.execute("PRAGMA busy_timeout = 0")
            try:
                self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self.db.execute(f"PRAGMA busy_timeout = {1000 * WAIT:.0f}")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._process:
            raise BadInput(f"{self.path.parent} was opened by process {self._process} before it forked; open it again")
        with self.lock:
            if self.depth:
                raise BadInput(
                    f"{self.path.parent} cannot be written inside a one_state() block, which reads a single state; "
                    "write to it after the block"
                )
            with self.naming_errors():
                self.db.execute(begin)
                self.depth += 1
                try:
                    yield self.db
                    self.db.execute("COMMIT")
                finally:
                    self.depth -= 1
                    if self.db.in_transaction:
                        with suppress(sqlite3.Error):
                            self.db.execute("ROLLBACK")

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Report SQLite's errors as BadInput that names the file and says what to do."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if "no such module: fts5" in str(error):
                raise BadInput("this Python's SQLite lacks full-text search (FTS5), which a collection needs") from None
            if isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error):
                raise BadInput(f"{self.path.parent} was closed; open it again") from None
            undecodable = isinstance(error, UnicodeDecodeError) or "Could not decode to UTF-8" in str(error)
            name = "SQLITE_CORRUPT" if undecodable else getattr(error, "sqlite_errorname", None) or ""
            meaning = next((text for beginning, text in MEANINGS.items() if name.startswith(beginning)), None)
            if meaning is None:
                raise
            raise BadInput(f"{self.path}: {meaning} ({name}: {error})") from None

    def close(self) -> None:
        """Close the connection, unless it belongs to the parent of a fork."""
        if os.getpid() == self._process:
            with self.lock:
                self.db.close()
