"""Collection: the index in a folder: what each call does to the journal, the segments and the snapshot of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection, IntegrityError

import numpy as np
from jaxtyping import Shaped

from ...errors import BadInput
from ...runtime.arguments import whole_number
from ...runtime.atomic_files import target_folder
from ...runtime.progress import Progress, show_progress
from ..filters import Condition, column_names, parse_filter
from ..index import Index, Match, ModelIdentity
from ..memory_index import unknown_column
from ..records import Records, check_ids, checked_records
from ..unit_rows import UnitRows, checked_queries
from . import journal as journal_file
from . import repairing, verification
from .appending import append_rows
from .collection_folder import CollectionSettings, make_folder, read_settings
from .compaction import compact_journal, groups_to_rewrite, rewrite_segments, rows_to_copy
from .derived_files import remove_derived
from .journal import Journal
from .nearest_rows import nearest_rows
from .record_table import StoredRow, column_counts, ids_of_rows, insert, keys_of, remove, stored_after, stored_of_ids
from .repairing import RepairReport
from .row_masks import RowMasks
from .segments import cut_tails, row_checksums
from .snapshot import Snapshot, refreshed
from .verification import CollectionReport
from .word_search import nearest_by_words
from .writer_lock import WriterLock


class Collection(Index):
    """An index in a folder; vectors are kept at length 1, in float16 unless it was created with float32.

    One process writes, and others read. The threads of a process may share an open collection; one at a time is served.
    """

    def __init__(self, folder: Path, journal: Journal, settings: CollectionSettings, lock: WriterLock | None) -> None:
        self.location, self.width, self.model = str(folder), settings.layout.width, settings.model
        self._folder, self._journal, self._layout, self._lock = folder, journal, settings.layout, lock
        self._snapshot, self._masks = Snapshot(), RowMasks(folder)

    @classmethod
    def create(
        cls, location: str, width: int, model: ModelIdentity | None = None, *, dtype: str = "float16"
    ) -> "Collection":
        """Make the folder, which must be new or empty; `dtype` is float16 or float32."""
        settings = CollectionSettings.of(whole_number("width", width), dtype, model)
        folder = target_folder(location)
        journal, lock = make_folder(folder, settings)
        return cls(folder, journal, settings, lock)

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "Collection":
        """Open a folder; a writer removes what a killed one wrote and did not commit.

        Raises:
            BadInput: there is no collection, or another process is writing to it.
        """
        folder = target_folder(location)
        if not (folder / journal_file.FILE).is_file():
            raise BadInput(f"{folder} is no collection; expected a folder with the file {journal_file.FILE}")
        lock = None if read_only else WriterLock(folder)
        try:
            journal = Journal(folder / journal_file.FILE, read_only=read_only)
            opened = cls(folder, journal, read_settings(folder, journal), lock)
            if not read_only:
                opened._cut_tails()
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return opened

    def add(self, records: Records) -> None:
        """Store new records."""
        self._store(records, replace=False)

    def upsert(self, records: Records) -> None:
        """Store records, replacing those of the same ids."""
        self._store(records, replace=True)

    def _store(self, records: Records, *, replace: bool) -> None:
        checked = checked_records(records, self.width)
        units = UnitRows.of(checked.vectors, self._layout.dtype.str)
        try:
            with self._writing() as db:
                known = keys_of(db, checked.ids) if replace else {}
                if known:
                    remove(db, [*known.values()])
                places = append_rows(db, self._folder, units.rows)
                insert(db, checked, places, units.lengths, row_checksums(units.rows))
        except IntegrityError:
            self._refuse_known(checked.ids)
            raise

    def _refuse_known(self, ids: Sequence[str]) -> None:
        with self._reading() as (db, _):
            known = keys_of(db, ids)
        for name in ids:
            if name in known:
                raise BadInput(f"the id {name!r} is in {self.location} already; upsert replaces it") from None

    def delete(self, ids: Sequence[str]) -> int:
        """Delete by id; the space is returned by `compact`."""
        check_ids(ids)
        with self._writing() as db:
            known = keys_of(db, ids)
            if known:
                remove(db, [*known.values()])
        return len(known)

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """The nearest by cosine with the vectors as they are stored, among those that pass the filter."""
        k, queries = whole_number("k", k), checked_queries(queries, self.width)
        with self._reading() as (db, snapshot):
            masks = self._masks.passing(self._condition(db, where), db, snapshot)
            hits = nearest_rows(queries, snapshot, masks, k)
            ids = ids_of_rows(db, hits.indices)
        pairs = zip(hits.indices.tolist(), hits.scores.tolist(), strict=True)
        return [[Match(ids[row], score) for row, score in zip(*pair, strict=True)] for pair in pairs]

    def search_words(self, query: str, k: int = 10, where: str | None = None) -> list[Match]:
        """The records that share words with the query, of greatest BM25 first; scores are no cosines."""
        k = whole_number("k", k)
        with self._reading() as (db, _):
            return nearest_by_words(db, query, k, self._condition(db, where))

    def get(self, ids: Sequence[str]) -> Records:
        """The records with these ids."""
        if isinstance(ids, str):
            raise BadInput(f"expected a list of ids; got the one string {ids!r}")
        with self._reading() as (db, snapshot):
            return self._records(stored_of_ids(db, ids, self.location), snapshot)

    def records(self, block: int = 1000) -> Iterator[Records]:
        """All records of one state, whatever is written meanwhile, in the order in which they were added."""
        block = whole_number("block", block)
        journal = Journal(self._journal.path, read_only=True)
        try:
            with self._reading(journal) as (db, snapshot):
                key = 0
                while found := stored_after(db, key, block):
                    key = found[-1].key
                    yield self._records(found, snapshot)
        finally:
            journal.close()

    def count(self, where: str | None = None) -> int:
        """How many records there are, or pass."""
        with self._reading() as (db, snapshot):
            masks = self._masks.passing(self._condition(db, where), db, snapshot)
            return sum(int(mask.sum()) for mask in masks)

    def compact(self, progress: Progress = None) -> int:
        """Return the space of deleted records, and return how many rows that was; a kill loses nothing.

        It needs free space of one segment (65,536 rows) and of the journal's changes.
        """
        with self._reading() as (_, snapshot):
            groups = list(groups_to_rewrite(snapshot.segments))
        returned = 0
        with show_progress(progress, rows_to_copy(snapshot)) as advance:
            for group in groups:
                returned += rewrite_segments(self._writing, self._folder, group)
                advance(sum(segment.living for segment in group), 0)
        self._check_writable()
        compact_journal(self._writing, self._journal.db)
        return returned

    def verify(self, progress: Progress = None) -> CollectionReport:
        """Read everything and compare it with checksums and counts; a writer also compares full text with the texts."""
        with self._reading() as (db, snapshot), show_progress(progress, snapshot.count) as advance:
            report = verification.verify_collection(db, self._folder, self._layout, advance)
        if self._lock is not None:
            with self._journal.checking() as db:
                report.problems += verification.check_words(db)
        return report

    def repair(self, progress: Progress = None) -> RepairReport:
        """Keep what is good; damaged records are removed, named, and written to a file as far as they can be read."""
        self._check_writable()
        with self._journal.checking() as db:
            db.execute("REINDEX")
        report = self.verify(progress)
        file = None
        if not report.is_clean:
            with self._writing() as db:
                file = repairing.write_damaged(db, self._folder, report.damaged)
                repairing.remove_damaged(db, report.damaged)
            self._snapshot = Snapshot()
            self._rewrite_short_segments()
        for name in report.stale:
            (self._folder / name).unlink(missing_ok=True)
        return RepairReport(self.count(), report.damaged, file)

    def _rewrite_short_segments(self) -> None:
        """Segments whose files lack rows: what is left of them moves to new files."""
        with self._reading() as (_, snapshot):
            short = [segment for segment in snapshot.segments if segment.mapped is None]
        for segment in short:
            left = verification.readable_part(segment, self._folder, self._layout)
            rewrite_segments(self._writing, self._folder, [left])

    def drop_derived(self) -> None:
        """Remove all that was derived; it is computed again when it is needed."""
        self._check_writable()
        remove_derived(self._folder)
        self._masks = RowMasks(self._folder)

    def close(self) -> None:
        """Close the files, and let another process write."""
        self._journal.close()
        self._snapshot, self._masks = Snapshot(), RowMasks(self._folder)
        if self._lock is not None:
            self._lock.release()

    @contextmanager
    def _reading(self, journal: Journal | None = None) -> Iterator[tuple[Connection, Snapshot]]:
        """A transaction and its snapshot. Where a file is gone, another process may have compacted it away just now:
        then there is a later state to read.
        """
        version = None
        while True:
            with (journal or self._journal).reading() as db:
                snapshot = refreshed(self._snapshot, db, self._folder, self._layout)
                if not snapshot.missing or snapshot.version == version:
                    self._snapshot = snapshot
                    yield db, snapshot
                    return
                version = snapshot.version

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction; if it fails, the rows that were written for it are cut off, as far as that can be done."""
        self._check_writable()
        try:
            with self._journal.writing() as db:
                yield db
        except BaseException:
            with suppress(BadInput, OSError):
                self._cut_tails()
            raise

    def _check_writable(self) -> None:
        if self._lock is None:
            raise BadInput(f"{self.location} was opened read-only; open it without read_only to write")

    def _cut_tails(self) -> None:
        with self._journal.reading() as db:
            committed = db.execute("SELECT number, rows FROM segments").fetchall()
        cut_tails(self._folder, committed, self._layout)

    def _condition(self, db: Connection, where: str | None) -> Condition | None:
        """The filter, if all its columns are there."""
        if where is None:
            return None
        condition, columns = parse_filter(where), column_counts(db)
        for name in column_names(condition):
            if name not in columns:
                raise unknown_column(name, set(columns), self.location)
        return condition

    def _records(self, found: Sequence[StoredRow], snapshot: Snapshot) -> Records:
        rows = snapshot.vectors_of(np.array([row.row for row in found], np.int64), self._layout)
        lengths = np.array([row.length for row in found], np.float64)
        vectors = UnitRows(rows, lengths).original()
        return Records([row.id for row in found], vectors, [row.text for row in found], [row.values() for row in found])
