"""Adding passages to an index in blocks: what it has is kept, what changed is replaced, what is gone is deleted."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from ...files.documents import Document
from ...runtime.progress import Progress, show_progress
from ..index import Index
from ..records import Records
from .passages import Passage, PassageReader, id_of_key

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
        deleted: those that their texts or files no longer have.
    """

    documents: int = 0
    added: int = 0
    unchanged: int = 0
    moved: int = 0
    deleted: int = 0


@dataclass(frozen=True)
class PassageBlock:
    """Passages that are stored at once, how many documents end in it, and the texts that were read to their end."""

    passages: Sequence[Passage]
    documents: int
    finished: Sequence[str]


@dataclass
class PassageWriter:
    """Writes passages into an index, block by block; each block is stored whole or not at all.

    While a block is stored, by another thread, the next one is embedded.
    """

    index: Index
    embed: Callable[[Sequence[Passage]], Records]
    stored: set[str]
    """Keys of the passages that the index has of these texts; those of other texts do no harm."""
    report: AddReport = field(default_factory=AddReport)

    def __post_init__(self) -> None:
        self.unseen: dict[str, set[str]] = defaultdict(set)  # keys by text that its documents have not shown yet
        for key in self.stored:
            self.unseen[id_of_key(key)].add(key)

    def write(
        self, documents: Iterable[Document], reader: PassageReader, show_progress_bar: Progress, total: int | None
    ) -> AddReport:
        """Write the passages of these documents; those of one text or file must follow each other."""
        with show_progress(show_progress_bar, total) as advance, ThreadPoolExecutor(1) as thread:
            storing: Future[int] | None = None
            for block in passage_blocks(documents, reader):
                new = [passage for passage in block.passages if passage.key not in self.stored]
                old = [passage for passage in block.passages if passage.key in self.stored]
                records = self.embed(new) if new else None
                self.stored.update(passage.key for passage in new)
                if storing is not None:
                    advance(storing.result(), 0)
                storing = thread.submit(self._store, block, records, old)
            if storing is not None:
                advance(storing.result(), 0)
        return self.report

    def _store(self, block: PassageBlock, new: Records | None, old: Sequence[Passage]) -> int:
        """Store a block, then delete what the texts that were read to their end no longer have; returns documents."""
        moved = self._moved(old)
        for records in (new, moved):
            if records is not None and len(records):
                self.index.upsert(records)
        for passage in old:
            self.unseen[id_of_key(passage.key)].discard(passage.key)
        gone = [key for name in block.finished if name for key in sorted(self.unseen.pop(name, ()))]
        self.report.deleted += self.index.delete(gone) if gone else 0
        self.report.documents += block.documents
        self.report.added += 0 if new is None else len(new)
        self.report.unchanged += len(old)
        self.report.moved += len(moved)
        return block.documents

    def _moved(self, passages: Sequence[Passage]) -> Records:
        """The stored records of these passages whose metadata differ, with the new ones."""
        found = self.index.get([passage.key for passage in passages]) if passages else Records([], np.empty((0, 0)))
        rows = found.metadata or [{}] * len(passages)
        texts = [passage.text for passage in passages]
        differ = [i for i, (old, new) in enumerate(zip(rows, passages, strict=True)) if {**old} != {**new.metadata}]
        return Records(
            [passages[i].key for i in differ],
            found.vectors[differ],
            [texts[i] for i in differ],
            [passages[i].metadata for i in differ],
        )


def passage_blocks(documents: Iterable[Document], reader: PassageReader) -> Iterator[PassageBlock]:
    """The passages of documents in blocks, which grow while their consumer is quick; the last may be empty."""
    passages: dict[str, Passage] = {}
    finished: list[str] = []
    size, count, source, began = FIRST_BLOCK, 0, "", time.perf_counter()
    for document in documents:
        if document.source != source:
            finished.append(source)
            source = document.source
        for passage in reader.passages(document):
            passages[passage.key] = passage
        count += 1
        if len(passages) >= size:
            yield PassageBlock([*passages.values()], count, finished)
            now = time.perf_counter()
            size = min(LARGEST_BLOCK, size * 2) if now - began < QUICK else size
            passages, finished, count, began = {}, [], 0, now
    yield PassageBlock([*passages.values()], count, [*finished, source])
