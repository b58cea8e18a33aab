"""OpenFiles: the folder of a collection while it is open: its journal, its lock, and the last snapshot of it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection

from ...errors import BadInput
from ...runtime.cancellation import cancellable_sql
from ...runtime.writer_lock import WriterLock
from .collection_folder import FORMAT, CollectionSettings, make_folder, read_settings, upgraded
from .storage import journal as journal_file
from .storage.journal import Journal
from .storage.segments import cut_tails
from .storage.snapshot import Snapshot, refreshed


class OpenFiles:
    """Transactions on the files of a collection; without a lock, for reading only."""

    def __init__(self, folder: Path, journal: Journal, settings: CollectionSettings, lock: WriterLock | None) -> None:
        self.folder, self.journal, self.settings, self.lock = folder, journal, settings, lock
        self.snapshot = Snapshot()

    @classmethod
    def create(cls, folder: Path, settings: CollectionSettings) -> "OpenFiles":
        """Make the folder."""
        journal, lock = make_folder(folder, settings)
        return cls(folder, journal, settings, lock)

    @classmethod
    def open(cls, folder: Path, *, read_only: bool) -> "OpenFiles":
        """Open the folder; a writer removes what a killed one wrote and did not commit."""
        path = folder / journal_file.FILE
        if not path.is_file():
            raise BadInput(f"{folder} is no collection; expected a folder with the file {path.name}")
        lock = None if read_only else WriterLock(folder)
        try:
            journal = Journal(path, read_only=read_only)
            opened = cls(folder, journal, read_settings(folder, journal), lock)
            if not read_only:
                journal.use_log()
                opened.settings = upgraded(journal, opened.settings)
                opened.cut_tails()
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return opened

    @contextmanager
    def reading(self, journal: Journal | None = None) -> Iterator[tuple[Connection, Snapshot]]:
        """A transaction and its snapshot, by the journal's own connection or by another.

        Where the file of a segment is gone, another process may have compacted it away since the transaction began:
        then there is a later state to read. What is read in a transaction can be cancelled.
        """
        version = None
        while True:
            with (journal or self.journal).reading() as db, cancellable_sql(db):
                snapshot = refreshed(self.snapshot, db, self.folder, self.settings.layout)
                if not snapshot.missing or snapshot.version == version:
                    self.snapshot = snapshot
                    yield db, snapshot
                    return
                version = snapshot.version

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction; if it fails, the rows that were written for it are cut off, as far as that can be done."""
        self.check_writable()
        try:
            with self.journal.writing() as db:
                yield db
        except BaseException:
            with suppress(BadInput, OSError):
                self.cut_tails()
            raise

    def check_words(self) -> None:
        """Refuse to search words that were folded by an earlier rule.

        Raises:
            BadInput: they were, and nothing may be written here.
        """
        if self.settings.format != FORMAT:  # when it was opened
            self.settings = read_settings(self.folder, self.journal)
        if self.settings.format != FORMAT:
            raise BadInput(
                f"the full text of {self.folder} was made by an earlier version, whose words cannot be compared with "
                f"those of this one; open it once for writing (likewise index compact {self.folder}), which makes it "
                "again"
            )

    def check_writable(self) -> None:
        """Refuse to write what was opened for reading.

        Raises:
            BadInput: it was.
        """
        if self.lock is None:
            raise BadInput(f"{self.folder} was opened read-only; open it without read_only to write")

    def cut_tails(self) -> None:
        """Remove rows that were written and not committed."""
        with self.journal.reading() as db:
            committed = db.execute("SELECT number, rows FROM segments").fetchall()
        cut_tails(self.folder, committed, self.settings.layout)

    def close(self) -> None:
        """Close the files, and let another process write."""
        self.journal.close()
        self.snapshot = Snapshot()
        if self.lock is not None:
            self.journal.keep_log_files()
            self.lock.release()
