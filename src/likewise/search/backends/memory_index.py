"""MemoryIndex: NumPy arrays and dictionaries; a slow, simple reference that is also useful for temporary data.

The data under a name (`memory:NAME`) lives as long as the process and is shared by everyone who opens it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from ...array_types import Float32, Shaped
from ...arrays.similarity import unit, unit_cosine
from ...errors import BadInput
from ...runtime.arguments import found_in_order, whole_number
from ..exact import checked_queries, nearest
from ..filters import matches
from ..index import Index, Match, ModelIdentity
from ..records import Records, Value, check_ids, checked_records, listed_ids
from .common import check_new, check_not_read_only, checked_filter

SCHEME = "memory:"


class MemoryRecord(NamedTuple):
    vector: Float32[np.ndarray, " E"]
    text: str | None
    metadata: Mapping[str, Value]


@dataclass
class MemoryRecords:
    """The data under a name. Records are replaced, never modified, so readers never see a half-finished call."""

    dimension: int
    model: ModelIdentity | None
    records: dict[str, MemoryRecord] = field(default_factory=dict)
    lock: Any = field(default_factory=RLock)


_KEPT: dict[str, MemoryRecords] = {}


class MemoryIndex(Index):
    """Exact search over in-memory records; every write copies the dictionary of ids."""

    def __init__(self, location: str, kept: MemoryRecords, *, read_only: bool = False) -> None:
        self.location, self._kept, self._read_only = location, kept, read_only
        self.dimension, self.model = kept.dimension, kept.model

    @classmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None = None) -> "MemoryIndex":
        if not location.startswith(SCHEME):
            raise BadInput(f"the location of a memory index is {location!r}; expected {SCHEME}NAME")
        kept = MemoryRecords(whole_number("dimension", dimension), model)
        if _KEPT.setdefault(location, kept) is not kept:
            raise BadInput(f"{location} already exists; open it, or choose another name")
        return cls(location, kept)

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> "MemoryIndex":
        if location not in _KEPT:
            raise BadInput(f"there is no {location} in this process; existing names: {', '.join(_KEPT) or 'none'}")
        return cls(location, _KEPT[location], read_only=read_only)

    @classmethod
    def discard(cls, location: str) -> None:
        """Delete the data under a name and free its memory; an unknown name is not an error."""
        _KEPT.pop(location, None)

    def add(self, records: Records) -> None:
        checked = checked_records(records, self.dimension)

        def added(known: dict[str, MemoryRecord]) -> None:
            check_new((name for name in checked.ids if name in known), self.location)
            known |= _rows(checked)

        self._change(added)

    def upsert(self, records: Records) -> None:
        checked = checked_records(records, self.dimension)
        self._change(lambda known: known.update(_rows(checked)))

    def delete(self, ids: Sequence[str]) -> int:
        check_ids(ids)
        return int(self._change(lambda known: sum(known.pop(name, None) is not None for name in ids)))

    def _change(self, change: Callable[[dict[str, MemoryRecord]], Any]) -> Any:
        check_not_read_only(self.location, self._read_only)
        with self._kept.lock:
            copy = dict(self._kept.records)
            result = change(copy)
            self._kept.records = copy
        return result

    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """The nearest records by cosine among those that pass the filter."""
        k, queries = whole_number("k", k), checked_queries(queries, self.dimension)
        found = self._passing(where)
        if not found:
            return [[] for _ in queries]
        ids, vectors = [*found], unit(np.stack([record.vector for record in found.values()]))
        hits = nearest(queries, vectors, k, unit_cosine)
        return [
            [Match(ids[i], float(score)) for i, score in zip(*row, strict=True)]
            for row in zip(hits.indices, hits.scores, strict=True)
        ]

    def get(self, ids: Sequence[str]) -> Records:
        known = self._kept.records
        return self._block(ids, found_in_order(listed_ids(ids), known, self.location))

    def records(self, block: int = 1000) -> Iterator[Records]:
        known = self._kept.records
        block = whole_number("block", block)
        if known:
            yield from self._block(list(known), list(known.values())).blocks(block)

    def count(self, where: str | None = None) -> int:
        return len(self._passing(where))

    def close(self) -> None:
        """Do nothing: the records stay until `discard` is called or the process ends."""

    def _passing(self, where: str | None) -> dict[str, MemoryRecord]:
        known = self._kept.records
        if where is None:
            return known
        columns = {name for record in known.values() for name in record.metadata}
        condition = checked_filter(where, self.location, columns.__contains__, columns)
        return {name: record for name, record in known.items() if matches(condition, record.metadata)}

    def _block(self, ids: Sequence[str], rows: Sequence[MemoryRecord]) -> Records:
        vectors = np.array([row.vector for row in rows], np.float32).reshape(len(rows), self.dimension)
        return Records(list(ids), vectors, [row.text for row in rows], [row.metadata for row in rows])


def _rows(records: Records) -> dict[str, MemoryRecord]:
    columns = zip(records.ids, records.vectors, records.contents, strict=True)
    return {name: MemoryRecord(vector.copy(), text, dict(row)) for name, vector, (text, row) in columns}
