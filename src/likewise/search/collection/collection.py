"""Collection: an index in a folder; each call reads or updates the journal and the segments."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from sqlite3 import Connection, IntegrityError
from typing import Any

import numpy as np

from ...array_types import Shaped
from ...errors import BadInput
from ...runtime.arguments import whole_number
from ...runtime.atomic_files import target_folder
from ...runtime.progress import Progress
from ..backends.common import checked_filter
from ..exact import UnitRows, checked_queries
from ..filters import Condition
from ..index import Index, Match, ModelIdentity
from ..records import Content, Records, check_ids, checked_records, listed_ids
from .collection_folder import CollectionSettings, make_folder
from .compaction import compact_collection
from .journal import Journal
from .record_table import (
    StoredRow,
    column_counts,
    ids_beginning,
    ids_of_rows,
    insert,
    keys_of,
    nearest_by_words,
    remove,
    stored_after,
    stored_of_ids,
)
from .segments import append_rows, row_checksums
from .snapshot import OpenFiles, SegmentIndex, Snapshot
from .verification import CollectionReport, RepairReport, repair_collection, verify_collection


class Collection(Index):
    """An index in a folder; vectors are stored at unit length, in float16 unless it was created with float32.

    One process may write while others read. Threads may share an open collection, which serves one thread at a time.
    """

    def __init__(self, files: OpenFiles) -> None:
        self._files, self._layout = files, files.settings.layout
        self.location, self.dimension, self.model = str(files.folder), self._layout.width, files.settings.model
        self.dtype = self._layout.dtype.name
        self._forget()

    def _forget(self) -> None:
        self._derived = SegmentIndex(self._files.folder)

    @classmethod
    def create(
        cls, location: str, dimension: int, model: ModelIdentity | None = None, *, dtype: str = "float16"
    ) -> "Collection":
        settings = CollectionSettings.of(whole_number("dimension", dimension), dtype, model)
        folder = target_folder(location)
        journal, lock = make_folder(folder, settings)
        return cls(OpenFiles(folder, journal, settings, lock))

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "Collection":
        return cls(OpenFiles.open(target_folder(location), read_only=read_only))

    def add(self, records: Records) -> None:
        checked = checked_records(records, self.dimension)
        try:
            self._store(checked, replace=False)
        except IntegrityError:  # checking beforehand would take one lookup per record
            with self._files.reading() as (db, _):
                known = keys_of(db, checked.ids)
            name = next(name for name in checked.ids if name in known)
            raise BadInput(f"the id {name!r} is already in {self.location}; upsert replaces it") from None

    def upsert(self, records: Records) -> None:
        self._store(checked_records(records, self.dimension), replace=True)

    def _store(self, records: Records, *, replace: bool) -> None:
        """Insert records, and only look up ids if that fails, since a lookup takes a tenth as long as an insertion."""
        units = UnitRows.of(records.vectors, self._layout.dtype.str)
        checksums = row_checksums(units.rows)
        with self._files.writing() as db:
            rows = append_rows(db, self._files.folder, units.rows)
            try:
                with self._files.journal.undoable():
                    insert(db, records, rows, units.lengths, checksums)
            except IntegrityError:
                known = keys_of(db, records.ids) if replace else {}
                if not known:
                    raise
                remove(db, [*known.values()])
                insert(db, records, rows, units.lengths, checksums)

    def delete(self, ids: Sequence[str]) -> int:
        check_ids(ids)
        with self._files.writing() as db:
            known = keys_of(db, ids)
            if known:
                remove(db, [*known.values()])
        return len(known)

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """For each query, the k records with the greatest cosine to it, among the records that pass the filter."""
        k, queries = whole_number("k", k), checked_queries(queries, self.dimension)
        with self._files.reading() as (db, snapshot):
            masks = self._derived.passing(None if where is None else self._condition(db, where), db, snapshot)
            hits = self._derived.nearest(queries, snapshot, masks, k)
            ids = ids_of_rows(db, hits.indices)
        rows = [map(ids.__getitem__, row) for row in hits.indices.tolist()]
        return [[*map(Match, *pair)] for pair in zip(rows, hits.scores.tolist(), strict=True)]

    def one_state(self) -> AbstractContextManager[Any]:
        """Run a block in one transaction of the journal; other threads wait until it ends."""
        return self._files.reading()

    def search_words(self, query: str, k: int = 10, where: str | None = None) -> list[Match]:
        """The records that share words with the query, highest BM25 score first; these scores are not cosines."""
        k = whole_number("k", k)
        self._files.check_words()
        with self._files.reading() as (db, _):
            return nearest_by_words(db, query, k, None if where is None else self._condition(db, where))

    def get(self, ids: Sequence[str]) -> Records:
        with self._files.reading() as (db, snapshot):
            return self._records(stored_of_ids(db, listed_ids(ids), self.location), snapshot)

    def contents(self, ids: Sequence[str]) -> dict[str, Content]:
        with self._files.reading() as (db, _):
            return {row.id: (row.text, row.values()) for row in stored_of_ids(db, ids, self.location)}

    def records(self, block: int = 1000) -> Iterator[Records]:
        block, key = whole_number("block", block), 0
        journal = Journal(self._files.journal.path, read_only=True)
        try:
            with self._files.reading(journal) as (db, snapshot):
                while found := stored_after(db, key, block):
                    key, block_records = found[-1].key, self._records(found, snapshot)
                    journal.check_unchanged()
                    yield block_records
        finally:
            journal.close()

    def ids(self) -> Iterator[str]:
        with self._files.reading() as (db, _):
            found = db.execute("SELECT id FROM records").fetchall()
        yield from (name for (name,) in found)

    def ids_beginning(self, beginnings: Sequence[str], exact: Sequence[str] = ()) -> Iterator[str]:
        with self._files.reading() as (db, _):
            found = dict.fromkeys(keys_of(db, exact))
            found |= {name: None for one in beginnings for name in ids_beginning(db, one)}
        yield from found

    def count(self, where: str | None = None) -> int:
        with self._files.reading() as (db, snapshot):
            if where is None:
                return snapshot.count
            masks = self._derived.passing(self._condition(db, where), db, snapshot)
            return sum(int(mask.sum()) for mask in masks)

    def columns(self) -> dict[str, int]:
        """The names of all metadata columns, and how many records have a value for each."""
        with self._files.reading() as (db, _):
            return column_counts(db)

    def version(self) -> int:
        """A number that increases with every change, so that cached results of an older version can be recognized."""
        with self._files.reading() as (_, snapshot):
            return snapshot.version

    def compact(self, show_progress_bar: Progress = None) -> int:
        """Free the space of deleted records and return their number; needs disk space for one segment (65,536 rows)."""
        return compact_collection(self._files, show_progress_bar)

    def verify(self, show_progress_bar: Progress = None) -> CollectionReport:
        """Check all data against checksums and counts; with write access, also check the full-text index."""
        return verify_collection(self._files, show_progress_bar)

    def repair(self, show_progress_bar: Progress = None) -> RepairReport:
        """Keep intact records, remove and list damaged ones, and write their readable parts to a file."""
        report = repair_collection(self._files, show_progress_bar)
        self._forget()
        return report

    def close(self) -> None:
        self._files.close()
        self._forget()

    def _condition(self, db: Connection, where: str) -> Condition:
        columns = column_counts(db)
        return checked_filter(where, self.location, columns.__contains__, columns)

    def _records(self, found: Sequence[StoredRow], snapshot: Snapshot) -> Records:
        try:
            places = np.array([row.row for row in found], np.int64)
            lengths = np.array([row.length for row in found], np.float64)
        except (ValueError, TypeError) as error:
            raise BadInput(f"{self.location} is damaged; verify() lists the damage ({error})") from None
        vectors = UnitRows(snapshot.vectors_of(places, self._layout), lengths).original()
        return Records([row.id for row in found], vectors, [row.text for row in found], [row.values() for row in found])
