"""Adding passages to an index in blocks: what it has is kept, what changed is replaced, what is gone is deleted."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...files.documents import Document
from ...runtime.progress import Progress, show_progress
from ..index import Index
from ..records import Records
from .passages import Passage, PassageReader, file_of_id

FIRST_BLOCK, LARGEST_BLOCK = 256, 8192
"""Passages of the first block, and of the largest; a block is twice the one before it while that took a second."""
QUICK = 1.0
"""Seconds that a block may take if the next one is to be larger."""


@dataclass
class AddReport:
    """What an addition did, in passages.

    Args:
        documents: how many documents were read.
        added: new ones, which were embedded.
        unchanged: those that the index had.
        moved: those among them whose place or other columns changed; they were stored again, not embedded.
        deleted: those that their files no longer have.
    """

    documents: int = 0
    added: int = 0
    unchanged: int = 0
    moved: int = 0
    deleted: int = 0


@dataclass
class PassageWriter:
    """Writes passages into an index, block by block; each block is stored whole or not at all."""

    index: Index
    embed: Callable[[Sequence[Passage]], Records]
    report: AddReport = field(default_factory=AddReport)

    def __post_init__(self) -> None:
        self.known: dict[str, set[str]] = defaultdict(set)  # ids of each file that its documents have not shown yet
        self.stored = set(self.index.ids())
        for name in self.stored:
            self.known[file_of_id(name)].add(name)
        self.finished: list[str] = []  # files of which every document was read

    def write(
        self, documents: Iterable[Document], reader: PassageReader, progress: Progress, total: int | None
    ) -> AddReport:
        """Write the passages of these documents; those of a file must follow each other."""
        block: dict[str, Passage] = {}
        size, pending, began, file = FIRST_BLOCK, 0, time.perf_counter(), ""
        with show_progress(progress, total) as advance:
            for document in documents:
                if document.file != file:
                    self.finished.append(file)
                    file = document.file
                block |= {passage.id: passage for passage in reader.passages(document)}
                pending += 1
                if len(block) >= size:
                    self._store([*block.values()], pending)
                    advance(pending, 0)
                    now = time.perf_counter()
                    size = min(LARGEST_BLOCK, size * 2) if now - began < QUICK else size
                    block, pending, began = {}, 0, now
            self.finished.append(file)
            self._store([*block.values()], pending)
            advance(pending, 0)
        return self.report

    def _store(self, block: Sequence[Passage], documents: int) -> None:
        """Store a block, then delete what the files that were read to their end no longer have."""
        new = [passage for passage in block if passage.id not in self.stored]
        old = [passage for passage in block if passage.id in self.stored]
        moved = self._moved(old)
        if new:
            self.index.upsert(self.embed(new))
        if len(moved):
            self.index.upsert(moved)
        for passage in block:
            self.known[passage.file].discard(passage.id)
        gone = [name for file in self.finished if file for name in sorted(self.known.pop(file, ()))]
        self.report.deleted += self.index.delete(gone) if gone else 0
        self.finished.clear()
        self.stored.difference_update(gone)
        self.report.documents += documents
        self.report.added += len(new)
        self.report.unchanged += len(old)
        self.report.moved += len(moved)

    def _moved(self, passages: Sequence[Passage]) -> Records:
        """The stored records of these passages whose metadata differ, with the new ones."""
        found = self.index.get([passage.id for passage in passages]) if passages else Records([], np.empty((0, 0)))
        rows = found.metadata or [{}] * len(passages)
        texts = [passage.text for passage in passages]
        differ = [i for i, (old, new) in enumerate(zip(rows, passages, strict=True)) if {**old} != {**new.metadata}]
        return Records(
            [passages[i].id for i in differ],
            found.vectors[differ],
            [texts[i] for i in differ],
            [passages[i].metadata for i in differ],
        )
