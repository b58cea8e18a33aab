"""Passages: document chunks as an index stores them, with a key made from the id and the text, and their position."""

import hashlib
import re
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
"""Number of hexadecimal digits of the hash in a key: 80 bits, enough to avoid collisions among 10⁹ texts."""
BEFORE_HASH = "#"
"""The separator between a text's id and the hash in a key."""
KEY = re.compile(rf"(?s)(.*){BEFORE_HASH}[0-9a-f]{{{HASH}}}(?:\.\d+)?")
"""The key of a passage: the id of its text, a hash, and a number if the text repeats a passage."""
BETWEEN = " > "
"""The separator between headings, both in metadata and before passages."""
RANKED_BY = ("reranked", "fused", "cosine", "words")
"""The names of scores; a passage is ranked by the first of these scores that it has."""


class Passage(NamedTuple):
    """A part of a text, its key in the index, and where it comes from.

    `metadata` contains what is known of: file, title, row (from 1), headings, start and stop (character offsets in the
    document), and the columns of the row.
    """

    key: str
    text: str
    metadata: Mapping[str, Value]
    scores: Mapping[str, float] = MappingProxyType({})
    """The scores by which the passage was found: cosine, words (BM25), fused, reranked."""

    @property
    def score(self) -> float:
        """The score by which the passage was ranked; 0 if it does not come from a search."""
        return next((self.scores[name] for name in RANKED_BY if name in self.scores), 0.0)

    @property
    def id(self) -> str:
        """The id of the passage's text, or the path of its file; if it has neither, the passage's own key."""
        return id_of_key(self.key) or self.key

    @property
    def file(self) -> str:
        return str(self.metadata.get("file") or "")


@dataclass
class PassageReader:
    """Splits documents into passages, one source after another, and gives each passage a key."""

    count_tokens: CountTokens
    settings: ChunkSettings
    with_headings: bool = False
    """Whether titles and headings are embedded too, in which case keys depend on them."""
    source: str | None = None
    seen: dict[str, int] = field(default_factory=dict)
    """The number of times that each text has occurred in the current source."""

    def passages(self, document: Document) -> Iterator[Passage]:
        """The passages of a document; empty if it has no text."""
        if document.source != self.source:
            self.source, self.seen = document.source, {}
        chunks = self._chunks(document)
        for chunk in chunks:
            text = document.text[chunk.start : chunk.stop]
            metadata = _metadata(document, chunk, located=document.row is None or len(chunks) > 1)
            embedded = embedded_text(text, metadata) if self.with_headings else text
            yield Passage(self._key(document.source, embedded), text, metadata)

    def _chunks(self, document: Document) -> list[Chunk]:
        """The chunks of a document; tokens are not counted if the text has no more bytes than the token limit."""
        text = document.text
        if document.has_headings or len(text) > self.settings.size or len(text.encode()) > self.settings.size:
            settings = ChunkSettings(self.settings.size, self.settings.overlap, document.has_headings)
            return split_document(text, self.count_tokens, settings)
        start, stop = trim(text, 0, len(text))
        return [Chunk(start, stop)] if start < stop else []

    def _key(self, source: str, text: str) -> str:
        """The key of an embedded text; within a source, repeats are numbered; without one, they share a key."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:HASH]
        if not source:
            return BEFORE_HASH + digest
        number = self.seen[digest] = self.seen.get(digest, 0) + 1
        return f"{source}{BEFORE_HASH}{digest}.{number}" if number > 1 else f"{source}{BEFORE_HASH}{digest}"


def id_of_key(key: str) -> str:
    """The id in a passage's key: the id of its text, or the path of its file; empty if it has neither.

    Any other key, as stored by `likewise encode` and `Index.add`, is itself an id.
    """
    found = KEY.fullmatch(key)
    return key if found is None else found[1]


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
    """`title > heading: text`, omitting headings that the text already begins with; just the text if none are left.

    >>> embedded_text("They sleep a lot.", {"title": "Pets", "headings": "Cats > Sleep"})
    'Pets > Cats > Sleep: They sleep a lot.'
    """
    if "title" not in metadata and "headings" not in metadata:
        return text
    own = document_sections(text)[0].headings if "headings" in metadata else ()
    context = [name for name in dict.fromkeys(_names(metadata)) if name not in own]
    return f"{BETWEEN.join(context)}: {text}" if context else text


def _names(metadata: Mapping[str, Value]) -> Iterator[str]:
    """The title, unless it is just the file name, and the headings, outermost first."""
    title, headings = metadata.get("title"), metadata.get("headings")
    named_by_file = "row" not in metadata and Path(str(metadata.get("file") or "")).stem == title
    if isinstance(title, str) and title.strip() and not named_by_file:
        yield title.strip()
    if isinstance(headings, str):
        yield from headings.split(BETWEEN)
