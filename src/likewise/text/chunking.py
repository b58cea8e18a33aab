"""Chunking: splitting a document at headings and sentences into parts that fit into a model, with their offsets."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from ..errors import BadInput
from ..runtime.arguments import whole_number
from .sentences import sentence_spans, trim

CountTokens = Callable[[list[str]], Sequence[int]]  # converts texts to their token counts
Span = tuple[int, int]  # start and stop of a part of a text, in characters
HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|$)(.*)")
CLOSING_MARKS = re.compile(r"(^|\s)#+$")
FENCE = re.compile(r" {0,3}(```++|~~~++)")
UNDERLINE = re.compile(r" {0,3}(?:(=++)|-++)\s*+$")
FILLED = 0.9  # how full to make the parts of an over-long sentence, so that few need to be split again
FRONT_MATTER = "---"  # the line before and after the front matter of a Markdown file


@dataclass(frozen=True)
class ChunkSettings:
    """How documents are split.

    Args:
        size: maximum tokens per chunk, excluding special tokens and prompts.
        overlap: maximum tokens that a chunk repeats from the end of the previous one, in whole sentences.
        headings: whether Markdown headings are recognized; a chunk then never crosses a section boundary.
    """

    size: int = 200
    overlap: int = 0
    headings: bool = True

    def __post_init__(self) -> None:
        whole_number("size", self.size)
        if whole_number("overlap", self.overlap, 0) >= self.size:
            raise BadInput(f"overlap is {self.overlap} tokens and size {self.size}; expected an overlap below the size")


class Chunk(NamedTuple):
    """`text[start:stop]` of a document, and the headings above it, outermost first."""

    start: int
    stop: int
    headings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """A part of a document under one heading: from the heading to the next one."""

    start: int
    stop: int
    headings: tuple[str, ...]
    body: int  # where the text after the heading starts


def split_document(text: str, count_tokens: CountTokens, settings: ChunkSettings | None = None) -> list[Chunk]:
    """The chunks of a document, in order; they contain all of its characters except whitespace.

    Sentences (`sentence_spans`) are joined as long as they fit. A sentence that is too long is cut at whitespace into
    parts that fit. Tokens are counted for each sentence separately, and these counts are added up.
    """
    settings = settings or ChunkSettings()
    chunks = []
    for section in document_sections(text) if settings.headings else [Section(0, len(text), (), 0)]:
        spans = _section_spans(text, section)
        counts = count_tokens([text[start:stop] for start, stop in spans]) if spans else []
        units = [
            unit
            for span, tokens in zip(spans, counts, strict=True)
            for unit in _fitting(text, span, tokens, count_tokens, settings.size)
        ]
        chunks += [Chunk(start, stop, section.headings) for start, stop in _packed(units, settings)]
    return chunks


def document_sections(text: str) -> list[Section]:
    """The sections of a Markdown text; a section without text after its heading is joined to the next one."""
    sections: list[Section] = []
    path: list[tuple[int, str]] = []  # levels and titles of the headings around the current place
    start = body = 0
    for heading_start, heading_stop, level, title in _headings(text):
        if text[body:heading_start].strip():
            sections.append(Section(start, heading_start, _titles(path), body))
            start = heading_start
        path = [*(outer for outer in path if outer[0] < level), (level, title)]
        body = heading_stop
    return [*sections, Section(start, len(text), _titles(path), body)]


def _titles(path: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(title for _, title in path if title)


def _headings(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Start, stop, level and title of every heading (`#` or underlined) outside fenced code."""
    fence, before, start = "", (0, ""), 0
    for line in text.splitlines(keepends=True):
        stop, is_text = start + len(line), not fence
        fence = _open_fence(fence, line, start)
        if is_text and (found := HEADING.match(line)):
            yield start, stop, len(found[1]), CLOSING_MARKS.sub("", found[2].strip()).strip()
            is_text = False
        elif is_text and before[1] and (found := UNDERLINE.match(line)):
            yield before[0], stop, 1 if found[1] else 2, before[1]
            is_text = False
        paragraph = is_text and not line.startswith(("    ", "\t", ">", "-", "*", "|"))
        before, start = (start, line.strip() if paragraph else ""), stop


def _open_fence(fence: str, line: str, start: int) -> str:
    """The mark of the fenced code or front matter that is open after this line; empty if nothing is open."""
    if fence == FRONT_MATTER or (start == 0 and line.rstrip() == FRONT_MATTER):
        return "" if start and line.rstrip() == FRONT_MATTER else FRONT_MATTER
    mark = FENCE.match(line)
    if mark is None:
        return fence
    if not fence:
        return mark[1]
    return "" if mark[1].startswith(fence) else fence


def _section_spans(text: str, section: Section) -> list[Span]:
    title = trim(text, section.start, section.body)
    sentences = [(section.body + a, section.body + b) for a, b in sentence_spans(text[section.body : section.stop])]
    return [title, *sentences] if title[0] < title[1] else sentences


def _fitting(text: str, span: Span, tokens: int, count_tokens: CountTokens, size: int) -> Iterator[tuple[Span, int]]:
    """Yield the span with its token count if it fits; otherwise split it at whitespace and yield parts that fit."""
    length = span[1] - span[0]
    if tokens <= size or length < 2:
        yield span, tokens
        return
    parts = _parts(text, span, min(length, ceil(tokens / size / FILLED)))
    for part, count in zip(parts, count_tokens([text[a:b] for a, b in parts]), strict=True):
        yield from _fitting(text, part, count, count_tokens, size)


def _parts(text: str, span: Span, number: int) -> list[Span]:
    start, stop = span
    places = [start + (stop - start) * i // number for i in range(1, number)]
    cuts = [_nearest_space(text, place, (stop - start) // number) for place in places]
    parts = [trim(text, a, b) for a, b in pairwise([start, *cuts, stop])]
    return [part for part in parts if part[0] < part[1]]


def _nearest_space(text: str, place: int, reach: int) -> int:
    for distance in range(reach):
        for near in (place - distance, place + distance):
            if text[near].isspace():
                return near
    return place


def _packed(units: Sequence[tuple[Span, int]], settings: ChunkSettings) -> Iterator[Span]:
    """Join neighbouring units into chunks of at most `size` tokens; each begins with the end of the previous one."""
    first = last = 0
    while last < len(units):
        tokens = sum(count for _, count in units[first:last])
        while first < last and tokens + units[last][1] > settings.size:
            tokens -= units[first][1]
            first += 1
        while last < len(units) and (first == last or tokens + units[last][1] <= settings.size):
            tokens += units[last][1]
            last += 1
        yield units[first][0][0], units[last - 1][0][1]
        first = _overlap_start(units, first, last, settings.overlap)


def _overlap_start(units: Sequence[tuple[Span, int]], first: int, last: int, overlap: int) -> int:
    """The first unit that the next chunk repeats: the units from it to `last` have at most `overlap` tokens."""
    start = last
    while start - 1 > first and units[start - 1][1] <= overlap:
        start -= 1
        overlap -= units[start][1]
    return start
