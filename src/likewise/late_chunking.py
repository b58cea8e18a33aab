"""Late chunking: a document is read once, and each chunk pools its own tokens (Günther et al. 2024, arXiv:2409.04701).

A token's vector then reflects the whole window around it, including what "it" or "the city" refers to, even if the
chunk does not say. A document that exceeds the model's maximum input length is read in windows that overlap by a
quarter; each token's vector is taken from the window in which the token is closer to the middle.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from .array_types import Float, Int
from .arrays.reductions import REDUCTIONS, reduction_names
from .errors import BadInput, BadModel
from .text.chunking import Chunk, ChunkSettings, split_document
from .text.tokenizer import Tokenizer, window_starts

SHARED = 4  # neighbouring windows overlap by 1/4 of a window
WINDOWS_AT_ONCE = 64  # windows whose token vectors are in memory at the same time

POOLED = ("max", "mean", "mean-sqrt-len")
"""Pooling modes that work for any set of tokens; all other modes depend on a token's position in the whole text."""
TokenVectors = Callable[[list[list[int]]], Sequence[Float[np.ndarray, "t D"]]]
"""Converts sequences of ids, including special tokens, to the vectors of their tokens."""


@dataclass(frozen=True)
class DocumentChunks:
    """The chunks of a document, and a vector for each."""

    chunks: Sequence[Chunk]
    vectors: Float[np.ndarray, "C E"]


@dataclass(frozen=True)
class DocumentWindow:
    """One input of the encoder, and the tokens whose vectors it provides, counted from the document's first token."""

    ids: list[int]
    start: int  # the document's first token in this window, after the special tokens and the prompt
    first: int
    last: int


@dataclass(frozen=True)
class TokenizedDocument:
    """A document's tokens, and the range of tokens that each chunk pools.

    The special tokens and prompt before the document's first token have negative numbers; special tokens after its last
    token continue the numbering. They belong to the chunk of the first or the last token, so a document with a single
    chunk gets the same vector as from `encode`.
    """

    chunks: Sequence[Chunk]
    ids: list[int]
    windows: list[DocumentWindow]
    lead: int  # special tokens and prompt before each window
    ranges: Int[np.ndarray, "C 2"]

    @property
    def size(self) -> int:
        """The number of tokens, including those of the prompt."""
        return len(self.ids)

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, text: str, chunks: Sequence[Chunk], prompt: str, hides_prompt: bool
    ) -> "TokenizedDocument":
        ids, spans = tokenizer.ids_and_spans(prompt + text)
        spans = spans - len(prompt)
        prompted = int((spans[:, 1] <= 0).sum()) if prompt else 0
        lead, body = len(tokenizer.prefix) + prompted, ids[prompted:]
        windows = _windows(tokenizer, ids[:prompted], body)
        ranges = _token_ranges(spans[prompted:], chunks)
        ranges[ranges[:, 0] <= 0, 0] = 0 if hides_prompt and body else -lead
        ranges[ranges[:, 1] >= len(body), 1] = len(body) + len(tokenizer.suffix)
        return cls(chunks, ids, windows if len(chunks) else [], lead, ranges)


def _windows(tokenizer: Tokenizer, prompt: list[int], body: list[int]) -> list[DocumentWindow]:
    width = tokenizer.room_after(prompt)
    starts = window_starts(len(body), width, SHARED)
    middles = [(start + width + following + 1) // 2 for start, following in pairwise(starts)]
    before, behind = -tokenizer.max_seq_length, len(body) + tokenizer.max_seq_length
    return [
        DocumentWindow(tokenizer.with_special_tokens(prompt + body[start : start + width]), start, first, last)
        for start, first, last in zip(starts, [before, *middles], [*middles, behind], strict=True)
    ]


def _token_ranges(spans: Int[np.ndarray, "T 2"], chunks: Sequence[Chunk]) -> Int[np.ndarray, "C 2"]:
    """For each chunk, the range of tokens whose last character lies in it or, if there are none, the nearest token."""
    ends = np.maximum.accumulate(spans[:, 1] - 1)
    bounds = np.asarray([(chunk.start, chunk.stop) for chunk in chunks], np.int64).reshape(len(chunks), 2)
    ranges = np.searchsorted(ends, bounds)
    empty = ranges[:, 0] == ranges[:, 1]
    ranges[empty, 0] = np.minimum(ranges[empty, 0], max(0, len(ends) - 1))
    ranges[empty, 1] = ranges[empty, 0] + 1
    return np.asarray(ranges)


class ChunkPooling:
    """Running sums and maxima of the token vectors of a document's chunks."""

    def __init__(self, document: TokenizedDocument, width: int) -> None:
        self.document, shape = document, (len(document.chunks), width)
        self.sums, self.counts = np.zeros(shape, np.float32), np.zeros(shape[0], np.int64)
        self.maxima = np.full(shape, -np.inf, np.float32)

    def add(self, window: DocumentWindow, vectors: Float[np.ndarray, "t D"]) -> None:
        """Add the tokens that are taken from this window."""
        to_row = self.document.lead - window.start
        firsts = np.maximum(self.document.ranges[:, 0], window.first)
        lasts = np.minimum(self.document.ranges[:, 1], window.last)
        for chunk in np.flatnonzero(firsts < lasts):
            rows = vectors[firsts[chunk] + to_row : lasts[chunk] + to_row]
            self.sums[chunk] += rows.sum(0)
            self.counts[chunk] += len(rows)
            np.maximum(self.maxima[chunk], rows.max(0), out=self.maxima[chunk])

    def pooled(self, names: Sequence[str]) -> Float[np.ndarray, "C W"]:
        """The named reductions of each chunk, concatenated."""
        counts = self.counts[:, None].astype(np.float32)
        reduced = {"max": self.maxima, "mean": self.sums / counts, "mean-sqrt-len": self.sums / np.sqrt(counts)}
        return np.concatenate([reduced[name] for name in names], axis=1)


def late_reductions(spec: str) -> tuple[str, ...]:
    """The names of a pooling's reductions; raises BadInput if one of them does not work for any set of tokens."""
    try:
        names = reduction_names(spec)
    except BadModel:  # SBERT-WK, a fusion of layers
        names = ("",)
    if not {*names} <= {*POOLED}:
        others = ", ".join(name for name in REDUCTIONS if name not in POOLED)
        raise BadInput(
            f"late chunking works with the pooling modes {', '.join(POOLED)} and sums of these; this model's pooling "
            f"is {spec!r}, which, like {others}, needs the whole text. Encode the chunks one by one: encode(texts)"
        )
    return names


def pooled_chunks(
    documents: Iterable[TokenizedDocument],
    token_vectors: TokenVectors,
    names: Sequence[str],
    width: int,
    finished: Callable[[TokenizedDocument], None],
) -> Iterator[Float[np.ndarray, "C W"]]:
    """The pooled vectors of each document's chunks; `finished` is called with each document."""
    for group in _grouped(documents):
        poolings = [ChunkPooling(document, width) for document in group]
        inputs = [(pooling, window) for pooling in poolings for window in pooling.document.windows]
        for start in range(0, len(inputs), WINDOWS_AT_ONCE):
            part = inputs[start : start + WINDOWS_AT_ONCE]
            found = token_vectors([window.ids for _, window in part])
            for (pooling, window), vectors in zip(part, found, strict=True):
                pooling.add(window, vectors)
        for pooling in poolings:
            finished(pooling.document)
            yield pooling.pooled(names)


def _grouped(documents: Iterable[TokenizedDocument]) -> Iterator[list[TokenizedDocument]]:
    group: list[TokenizedDocument] = []
    for document in documents:
        group.append(document)
        if sum(len(one.windows) for one in group) >= WINDOWS_AT_ONCE:
            yield group
            group = []
    yield group


def document_chunks(
    text: str, given: Sequence[tuple[int, int] | Chunk] | None, tokenizer: Tokenizer, settings: ChunkSettings | None
) -> list[Chunk]:
    """Check the chunks given as spans of a text, or split the text according to the settings."""
    if given is None:
        settings = settings or ChunkSettings(min(ChunkSettings.size, tokenizer.max_content_length))
        return split_document(text, lambda texts: [len(ids) for ids in tokenizer.token_ids(texts)], settings)
    return [_checked_chunk(chunk, len(text)) for chunk in given]


def _checked_chunk(given: Any, length: int) -> Chunk:
    try:
        start, stop, *headings = given
        whole = isinstance(start, Integral) and isinstance(stop, Integral) and len(headings) <= 1
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise BadInput(f"a chunk is {given!r:.80}; expected its start and stop in characters, two whole numbers")
    if not 0 <= start < stop <= length:
        raise BadInput(f"the chunk ({start}, {stop}) is outside a text of {length:,} characters")
    return Chunk(int(start), int(stop), *headings)
