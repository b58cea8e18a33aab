"""FaissIndex: exact search by faiss in memory, over a folder whose SQLite file is the truth [extra: faiss].

`records.sqlite` holds everything, vectors included, in WAL mode, synced before a call returns. faiss holds the rows in
memory, and catches up with the file before each search, whichever process wrote to it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int64, Shaped

from ....runtime.arguments import whole_number
from ....runtime.installation import missing_extra
from ...exact import checked_queries
from ...index import Index, Match, ModelIdentity
from ...records import Records, check_ids, checked_records
from ..conversions import as_matches
from ..refusals import id_list
from .faiss_records import FaissRecords

try:
    import faiss
except ImportError:
    raise missing_extra("faiss-cpu", "faiss", "an index of faiss") from None

LOAD_BLOCK = 10_000  # rows read at a time when faiss catches up


class FaissIndex(Index):
    """An IndexFlatIP of rows of length 1, numbered by their positions in the SQLite file."""

    def __init__(self, records: FaissRecords) -> None:
        self._records, self.location = records, records.location
        self.width, self.model = records.description()
        self._rows: Any = faiss.IndexIDMap2(faiss.IndexFlatIP(self.width))
        self._positions = np.empty(0, np.int64)
        self._version: int | None = None

    @classmethod
    def create(cls, location: str, width: int, model: ModelIdentity | None = None) -> "FaissIndex":
        """Make the folder and its file."""
        return cls(FaissRecords.create(location, whole_number("width", width), model))

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "FaissIndex":
        """Open a folder; its rows are read at the first search."""
        return cls(FaissRecords.open(location, read_only=read_only))

    def add(self, records: Records) -> None:
        """Store new records, in one transaction."""
        self._version = None
        self._records.insert(checked_records(records, self.width), replace=False)

    def upsert(self, records: Records) -> None:
        """Store records, and replace those of the same ids, in one transaction."""
        self._version = None
        self._records.insert(checked_records(records, self.width), replace=True)

    def delete(self, ids: Sequence[str]) -> int:
        """Delete by id, in one transaction."""
        check_ids(ids)
        self._version = None
        return self._records.delete(ids)

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """The greatest inner products of rows of length 1; with a filter, of the rows that SQLite lets pass."""
        rows, k = checked_queries(queries, self.width), whole_number("k", k)
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
        """The records with these ids."""
        return self._records.get(id_list(ids))

    def records(self, block: int = 1000) -> Iterator[Records]:
        """All records, those that were stored last at the end."""
        return self._records.blocks(whole_number("block", block))

    def count(self, where: str | None = None) -> int:
        """How many records the file has, or how many pass the filter."""
        return self._records.count(where)

    def close(self) -> None:
        """Close the file and free the rows."""
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
