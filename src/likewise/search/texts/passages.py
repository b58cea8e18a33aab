"""Passages: the chunks of documents as an index keeps them: a key from id and text, and where they stand."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ...files.documents import Document
from ...text.chunking import Chunk, ChunkSettings, CountTokens, document_sections, split_document
from ...text.sentences import trim
from ..records import Value

HASH = 20
"""Hexadecimal digits of a text's hash in a key: 80 bits, so that among 10⁹ texts no two share one by chance."""
BEFORE_HASH = "#"
"""What stands in a key between the text's id and the hash."""
BETWEEN = " > "
"""What stands between headings, in metadata and before passages."""
RANKED_BY = ("reranked", "fused", "cosine", "words")
"""Names of scores; a passage is ranked by the first of them that it has."""


class Passage(NamedTuple):
    """A part of a text, under the key by which the index keeps it, and where it is from.

    `metadata` has, where they are known: file, title, row (from 1), headings, start and stop (characters of the
    document), and the columns of the row.
    """

    key: str
    text: str
    metadata: Mapping[str, Value]
    scores: Mapping[str, float] = MappingProxyType({})
    """What it was found by: cosine, words (BM25), fused, reranked."""

    @property
    def score(self) -> float:
        """What it was ranked by; 0 where it was not searched."""
        return next((self.scores[name] for name in RANKED_BY if name in self.scores), 0.0)

    @property
    def id(self) -> str:
        """The id of the text it is of: the caller's, or its file's path; its own key if the text has neither."""
        return id_of_key(self.key) or self.key

    @property
    def file(self) -> str:
        return str(self.metadata.get("file") or "")


@dataclass
class PassageReader:
    """Cuts documents into passages, those of one source after another; the same text there gets the same key."""

    count_tokens: CountTokens
    settings: ChunkSettings
    with_headings: bool = False
    """Whether titles and headings are embedded too: then a key changes with them."""
    source: str | None = None
    seen: dict[str, int] = field(default_factory=dict)
    """How often each text has occurred in the current source."""

    def passages(self, document: Document) -> Iterator[Passage]:
        """The passages of a document; none of one without text."""
        if document.source != self.source:
            self.source, self.seen = document.source, {}
        chunks = self._chunks(document)
        for chunk in chunks:
            text = document.text[chunk.start : chunk.stop]
            metadata = _metadata(document, chunk, located=document.row is None or len(chunks) > 1)
            embedded = embedded_text(text, metadata) if self.with_headings else text
            yield Passage(self._key(document.source, embedded), text, metadata)

    def _chunks(self, document: Document) -> list[Chunk]:
        """The chunks; a text of fewer bytes than tokens are allowed is one chunk, and no tokens are counted."""
        text = document.text
        if document.has_headings or len(text) > self.settings.size or len(text.encode()) > self.settings.size:
            settings = ChunkSettings(self.settings.size, self.settings.overlap, document.has_headings)
            return split_document(text, self.count_tokens, settings)
        start, stop = trim(text, 0, len(text))
        return [Chunk(start, stop)] if start < stop else []

    def _key(self, source: str, text: str) -> str:
        """From source and embedded text; equal ones of a source are numbered, and equal ones without one are one."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:HASH]
        if not source:
            return BEFORE_HASH + digest
        number = self.seen[digest] = self.seen.get(digest, 0) + 1
        return f"{source}{BEFORE_HASH}{digest}.{number}" if number > 1 else f"{source}{BEFORE_HASH}{digest}"


def id_of_key(key: str) -> str:
    """The id in a passage's key: that of its text, or its file's path; empty if it has neither."""
    return key.rpartition(BEFORE_HASH)[0]


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


def embedded_text(text: str, metadata: Mapping[str, Value]) -> str:
    """`title > heading: text`, without what the text itself begins with; the text alone where there is nothing else.

    >>> embedded_text("They sleep a lot.", {"title": "Pets", "headings": "Cats > Sleep"})
    'Pets > Cats > Sleep: They sleep a lot.'
    """
    if "title" not in metadata and "headings" not in metadata:
        return text
    own = document_sections(text)[0].headings if "headings" in metadata else ()
    context = [name for name in dict.fromkeys(_names(metadata)) if name not in own]
    return f"{BETWEEN.join(context)}: {text}" if context else text


def _names(metadata: Mapping[str, Value]) -> Iterator[str]:
    """The title, unless it is only the name of the file, and the headings, the outermost first."""
    title, headings = metadata.get("title"), metadata.get("headings")
    named_by_file = "row" not in metadata and Path(str(metadata.get("file") or "")).stem == title
    if isinstance(title, str) and title.strip() and not named_by_file:
        yield title.strip()
    if isinstance(headings, str):
        yield from headings.split(BETWEEN)
