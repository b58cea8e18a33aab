"""Passages: the chunks of documents as an index keeps them: an id from file and text, and where they stand."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from ...files.documents import Document
from ...text.chunking import Chunk, ChunkSettings, CountTokens, split_document
from ...text.sentences import trim
from ..records import Value
from .headings import BETWEEN, embedded_text

HASH = 20
"""Hexadecimal digits of a text's hash in an id: 80 bits, so that among 10⁹ texts no two share one by chance."""
BEFORE_HASH = "#"
"""What stands in an id between the file and the text's hash."""
RANKED_BY = ("reranked", "fused", "cosine", "words")
"""Names of scores; a passage is ranked by the first of them that it has."""


class Passage(NamedTuple):
    """A text under an id, and where it is from.

    `metadata` has, where they are known: file, title, row (from 1), headings, start and stop (characters of the
    document), and the columns of the row.
    """

    id: str
    text: str
    metadata: Mapping[str, Value]
    scores: Mapping[str, float] = MappingProxyType({})
    """What it was found by: cosine, words (BM25), fused, reranked."""

    @property
    def score(self) -> float:
        """What it was ranked by; 0 where it was not searched."""
        return next((self.scores[name] for name in RANKED_BY if name in self.scores), 0.0)

    @property
    def file(self) -> str:
        """The file it is from; empty where it is from none."""
        return str(self.metadata.get("file") or "")


@dataclass
class PassageReader:
    """Cuts the documents of one file after another into passages; the same text in the same file gets the same id."""

    count_tokens: CountTokens
    settings: ChunkSettings
    with_headings: bool = False
    """Whether titles and headings are embedded too: then an id changes with them."""
    file: str | None = None
    seen: dict[str, int] = field(default_factory=dict)
    """How often each text has occurred in the current file."""

    def passages(self, document: Document) -> Iterator[Passage]:
        """The passages of a document; none of one without text."""
        if document.file != self.file:
            self.file, self.seen = document.file, {}
        chunks = self._chunks(document)
        for chunk in chunks:
            text = document.text[chunk.start : chunk.stop]
            metadata = _metadata(document, chunk, located=document.row is None or len(chunks) > 1)
            embedded = embedded_text(text, metadata) if self.with_headings else text
            yield Passage(self._id(document.file, embedded), text, metadata)

    def _chunks(self, document: Document) -> list[Chunk]:
        """The chunks; a text of fewer bytes than tokens are allowed is one chunk, and no tokens are counted."""
        text = document.text
        if document.has_headings or len(text) > self.settings.size or len(text.encode()) > self.settings.size:
            settings = ChunkSettings(self.settings.size, self.settings.overlap, document.has_headings)
            return split_document(text, self.count_tokens, settings)
        start, stop = trim(text, 0, len(text))
        return [Chunk(start, stop)] if start < stop else []

    def _id(self, file: str, text: str) -> str:
        """From file and embedded text; equal ones of a file are numbered, and equal ones without a file are one."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:HASH]
        if not file:
            return BEFORE_HASH + digest
        number = self.seen[digest] = self.seen.get(digest, 0) + 1
        return f"{file}{BEFORE_HASH}{digest}.{number}" if number > 1 else f"{file}{BEFORE_HASH}{digest}"


def file_of_id(name: str) -> str:
    """The file that a passage with this id is from; empty where it is from none."""
    return name.rpartition(BEFORE_HASH)[0]


def _metadata(document: Document, chunk: Chunk, located: bool) -> Mapping[str, Value]:
    found: dict[str, Value] = dict(document.metadata) if document.metadata else {}
    if document.file:
        found["file"] = document.file
    if document.title:
        found["title"] = document.title
    if document.row is not None:
        found["row"] = document.row
    if chunk.headings:
        found["headings"] = BETWEEN.join(chunk.headings)
    if located:
        found |= {"start": chunk.start, "stop": chunk.stop}
    return found
