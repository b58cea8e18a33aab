"""An index in memory: the smallest thing that keeps the promises of `Index`, for tests."""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from likewise.errors import BadInput
from likewise.search.exact import search
from likewise.search.index import Index, Match, ModelIdentity
from likewise.search.records import Records, checked_records


class MemoryIndex(Index):
    """Records in a dictionary, searched one by one; filters are not read."""

    def __init__(self, location: str, dimension: int, model: ModelIdentity | None = None) -> None:
        self.location, self.dimension, self.model = location, dimension, model
        self.rows: dict[str, tuple] = {}

    @classmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None = None) -> Self:
        return cls(location, dimension, model)

    @classmethod
    def open(cls, location: str, *, read_only: bool = False) -> Self:
        raise BadInput(f"there is no {location}: memory is not kept")

    def add(self, records: Records) -> None:
        taken = [name for name in records.ids if name in self.rows]
        if taken:
            raise BadInput(f"{taken[0]!r} is there already")
        self.upsert(records)

    def upsert(self, records: Records) -> None:
        records = checked_records(records, self.dimension)
        texts, metadata = records.texts or [None] * len(records), records.metadata or [{}] * len(records)
        for row in zip(records.ids, records.vectors, texts, metadata, strict=True):
            self.rows[row[0]] = row

    def delete(self, ids: Sequence[str]) -> int:
        return sum(self.rows.pop(name, None) is not None for name in ids)

    def search(self, queries, k=10, where=None) -> list[list[Match]]:
        names, vectors = list(self.rows), np.array([row[1] for row in self.rows.values()])
        hits = search(queries, vectors.reshape(len(names), self.dimension), k)
        return [
            [Match(names[i], float(x)) for i, x in zip(*row, strict=True)]
            for row in zip(hits.indices, hits.scores, strict=True)
        ]

    def get(self, ids: Sequence[str]) -> Records:
        return _columns([self.rows[name] for name in ids])

    def records(self, block: int = 1000) -> Iterator[Records]:
        rows = list(self.rows.values())
        for start in range(0, len(rows), block):
            yield _columns(rows[start : start + block])

    def count(self, where: str | None = None) -> int:
        return len(self.rows)

    def close(self) -> None:
        pass


def _columns(rows: list[tuple]) -> Records:
    ids, vectors, texts, metadata = (list(column) for column in zip(*rows, strict=True))
    return Records(ids, np.array(vectors), texts, metadata)
