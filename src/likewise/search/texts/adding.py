"""Add passages to an index in blocks: keep unchanged passages, replace changed ones, and delete removed ones."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...files.documents import Document
from ...runtime.progress import Progress, show_progress
from ..index import Index
from ..records import Records, Value
from .passages import Passage, PassageReader, id_of_key

FIRST_BLOCK, LARGEST_BLOCK = 256, 8192
"""Number of passages in the first and in the largest block; the size doubles while blocks are stored quickly."""
QUICK = 1.0
"""The next block is larger if the last one took less than this many seconds."""


@dataclass
class AddReport:
    """Numbers of documents and passages that were added, kept, moved and deleted."""

    documents: int = 0  # that have a text
    added: int = 0  # passages that were embedded
    unchanged: int = 0
    moved: int = 0  # passages whose text is unchanged, stored again because their position or columns changed
    deleted: int = 0  # passages that are no longer in their texts or files


class PassageBlock(NamedTuple):
    """Passages stored together, how many documents end in this block, and which texts or files are finished."""

    passages: Sequence[Passage]
    read: int  # documents, with or without text
    documents: int  # documents that have text
    finished: Sequence[str]


@dataclass
class PassageWriter:
    """Writes passages into an index block by block; each block is stored completely or not at all.

    While another thread stores a block, the next one is embedded.
    """

    index: Index
    embed: Callable[[Sequence[Passage]], Records]
    stored: set[str]
    """The keys of passages that the index already has from these texts; keys from other texts are harmless."""
    report: AddReport = field(default_factory=AddReport)

    def __post_init__(self) -> None:
        self.unseen: dict[str, set[str]] = defaultdict(set)  # for each text, stored keys that have not been read yet
        for key in self.stored:
            self.unseen[id_of_key(key)].add(key)

    def write(
        self, documents: Iterable[Document], reader: PassageReader, show_progress_bar: Progress, total: int | None
    ) -> AddReport:
        """Write the passages of documents; documents from the same text or file must be consecutive."""
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
        """Store a block, delete passages that its texts no longer contain, and return the number of documents read."""
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
        return block.read

    def _moved(self, passages: Sequence[Passage]) -> Records:
        """The stored records of passages whose metadata changed, with the new metadata.

        Metadata is compared as JSON, because 1, 1.0 and True are equal in Python, but stored as different values.
        """
        stored = self.index.contents([passage.key for passage in passages]) if passages else {}
        new = [passage for passage in passages if _as_json(stored[passage.key][1]) != _as_json(passage.metadata)]
        vectors = self.index.get([passage.key for passage in new]).vectors if new else np.empty((0, 0))
        return Records([p.key for p in new], vectors, [p.text for p in new], [p.metadata for p in new])


def _as_json(metadata: Mapping[str, Value]) -> str:
    return json.dumps(dict(metadata), sort_keys=True)


def passage_blocks(documents: Iterable[Document], reader: PassageReader) -> Iterator[PassageBlock]:
    """The passages of documents in blocks, which grow while the consumer is fast; the last block may be empty."""
    passages: dict[str, Passage] = {}
    finished: list[str] = []
    size, read, count, source, began = FIRST_BLOCK, 0, 0, "", time.perf_counter()
    for document in documents:
        if document.source != source:
            finished.append(source)
            source = document.source
        own = {passage.key: passage for passage in reader.passages(document)}
        passages |= own
        read, count = read + 1, count + bool(own)
        if len(passages) >= size:
            yield PassageBlock([*passages.values()], read, count, finished)
            now = time.perf_counter()
            size = min(LARGEST_BLOCK, size * 2) if now - began < QUICK else size
            passages, finished, read, count, began = {}, [], 0, 0, now
    yield PassageBlock([*passages.values()], read, count, [*finished, source])
