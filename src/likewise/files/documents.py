"""Documents: texts with a title, location and metadata, read one at a time from many kinds of files."""

import codecs
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..runtime.installation import install_command
from ..text.chunking import document_sections
from .document_paths import (
    NO_TEXT,
    NO_TEXT_IN_PDF,
    NO_TEXT_IN_ROW,
    NOT_READ,
    Skip,
    SkippedFile,
    document_paths,
    refuse_errors,
)
from .front_matter import front_matter, number_in
from .html_text import html_text
from .line_formats import json_objects
from .lines import DAMAGED, data_ending, open_bytes, open_lines
from .read import READABLE_ENDINGS, Texts, checked_cell, choose_text_column, file_rows

Metadata = Mapping[str, str | int | float | bool | None]
CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
OWN_KEYS = ("file", "row", "start", "stop", "headings")
"""Metadata names reserved for a passage's location; an underscore is added to a column with one of these names."""
DECLARED_IN = 1024
"""The number of bytes at the beginning of an HTML file that are searched for a declaration of its encoding."""
SUPERSETS = {
    **dict.fromkeys(("iso-8859-1", "latin1", "ascii", "us-ascii"), "windows-1252"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("utf-16", "utf-16le", "utf-16be"), "utf-8"),  # a declaration in UTF-16 could not have been read
    "x-sjis": "shift_jis",
}
"""Encodings that pages declare, and the encodings that browsers use instead (WHATWG Encoding Standard)."""
MAX_BYTES = 1 << 28
"""Maximum bytes in a file that is a single document."""


class Document(NamedTuple):
    """A text and its origin.

    Args:
        text: the whole text, which offsets refer to: the file's content, or what `html_text` extracts from HTML.
        file: the absolute path of its file; empty if there is no file.
        title: its title; by default, the file name without its suffix; empty if the document has no title.
        row: its row number in the file, counted from 1; None if the whole file is the document.
        has_headings: whether it is Markdown, or has headings in Markdown syntax.
        metadata: the other columns of its row, or its front matter.
        id: the caller's name for it; empty if it comes from a file or has no name.
    """

    text: str
    file: str = ""
    title: str = ""
    row: int | None = None
    has_headings: bool = False
    metadata: Metadata = MappingProxyType({})
    id: str = ""

    @property
    def source(self) -> str:
        """The key by which a later version replaces this document: its id if it has one, otherwise its file."""
        return self.id or self.file


def read_documents(
    names: Iterable[str], column: str | None = None, *, whole: bool = False, skip: Skip = refuse_errors
) -> Iterator[Document]:
    for path in _paths(names, skip):
        yield from _documents(path, column, whole, skip)


def estimated_count(names: Iterable[str], *, whole: bool = False) -> int:
    """Estimate the number of documents from the number of line breaks, without parsing."""
    return sum(_estimate(path, whole) for path in _paths(names, lambda _: None))


def _paths(names: Iterable[str], skip: Skip) -> list[Path]:
    missing = [ending for ending, package in NEEDED.items() if find_spec(package) is None]
    return document_paths(names, [ending for ending in ENDINGS if ending not in missing], _why_not, skip)


def _why_not(ending: str) -> str:
    if ending in NEEDED:
        return f"reading them needs the package {NEEDED[ending]}; install it with: {install_command('documents')}"
    return NOT_READ


def _documents(path: Path, column: str | None, whole: bool, skip: Skip) -> Iterator[Document]:
    """The documents in a file; those without text are reported, but also yielded, so that old passages are deleted.

    A table without rows yields a single row 0.
    """
    ending = data_ending(path)
    read = _plain_text if ending == ".txt" and whole else WHOLE.get(ending)
    is_empty = ending != ".parquet" and not path.stat().st_size  # an empty Parquet file is a broken one
    try:
        if read is not None:
            found = iter([(_plain_text if is_empty else read)(path)])
        else:
            found = iter(()) if is_empty else _checked_rows(path, column, skip)
    except (BadInput, OSError) as error:
        skip(SkippedFile(path, "", str(error), is_error=True))
        return
    first = next(found, Document("", stored_path(path), row=0))
    if not first.text.strip() and (read is not None or first.row == 0):
        skip(SkippedFile(path, ending, NO_TEXT_IN_PDF if ending == ".pdf" else NO_TEXT))
    yield first
    yield from found


def _plain_text(path: Path) -> Document:
    return Document(_decoded_file(path), stored_path(path), path.stem)


def _markdown(path: Path) -> Document:
    """Parse a Markdown file, replacing front matter with line breaks so that offsets match the file."""
    text = _decoded_file(path)
    values, end = front_matter(text)
    text = "\n" * end + text[end:]
    metadata = row_metadata([*values], [*values.values()], parsed=False, keys=ColumnKeys())
    named = metadata.get("title")
    outermost = {section.headings[0] for section in document_sections(text) if section.headings}
    title = outermost.pop() if len(outermost) == 1 else path.stem  # of several top-level headings, none is the title
    title = named if isinstance(named, str) and named.strip() else title
    return Document(text, stored_path(path), title, has_headings=True, metadata=metadata)


def _html(path: Path) -> Document:
    data = _bytes_of(path)
    try:
        text, title = html_text(_decoded(data, path, _declared_encoding(data)))
    except TimeoutError as error:
        raise BadInput(f"{path} was {error}; check that its tags and comments are closed") from None
    return Document(text, stored_path(path), title or path.stem, has_headings=True)


def _declared_encoding(data: bytes) -> str:
    """The encoding given by the byte order mark, otherwise the superset of the declared one that browsers use."""
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    declared = CHARSET.search(data[:DECLARED_IN])
    if data.startswith(codecs.BOM_UTF8) or declared is None:
        return "utf-8"
    name = declared[1].decode().lower()
    return SUPERSETS.get(name, name)


def _office(path: Path) -> Document:
    text, title = office_text(path)
    named = storable(title).strip() or path.stem
    return Document(storable(text), stored_path(path), named, has_headings=data_ending(path) == ".docx")


def _checked_rows(path: Path, column: str | None, skip: Skip) -> Iterator[Document]:
    """Read all rows once before any is returned, so that a file is added whole or, if a row is bad, not at all."""
    try:
        blank = sum(not checked_cell(text, path, place).strip() for place, _, (text, *_) in _text_first(path, column))
    except (BadInput, OSError) as error:
        raise BadInput(f"{error}, so no row of the file was read") from None
    if blank:
        skip(SkippedFile(path, "row", NO_TEXT_IN_ROW, rows=blank))
    return _row_documents(path, column)


def _row_documents(path: Path, column: str | None) -> Iterator[Document]:
    source, parsed, keys = stored_path(path), data_ending(path) in (".csv", ".tsv"), ColumnKeys()
    for row, (place, names, (value, *others)) in enumerate(_text_first(path, column), 1):
        text = checked_cell(value, path, place)
        if not others:
            yield Document(storable(text), source, row=row)
            continue
        metadata = row_metadata(names[1:], others, parsed, keys)
        title = metadata.get("title")
        yield Document(storable(text), source, title if isinstance(title, str) else "", row, metadata=metadata)


def _text_first(path: Path, column: str | None) -> Iterator[tuple[str, Sequence[str], Sequence[Any]]]:
    """Each row's location, column names and values, with the text first. In JSON Lines, each row names its columns."""
    names: list[str] = []

    def all_columns(found: Sequence[str]) -> Sequence[str]:
        chosen = names[0] if names else choose_text_column(found, column, path)
        names[:] = [chosen, *(name for name in found if name != chosen)]
        return names

    if data_ending(path) != ".jsonl":
        yield from ((place, names, values) for place, values in file_rows(path, all_columns))
        return
    with open_lines(path) as lines:
        for place, row in json_objects(lines):
            yield place, all_columns([*row]), [row.get(name) for name in names]


class ColumnKeys(dict[str, str]):
    """Column names that filters can use: distinct, made of letters, digits and underscores, and not in OWN_KEYS.

    A column gets its key when it is first looked up and keeps it, so that the rows of a file agree even if each names
    its own columns.
    """

    def __init__(self) -> None:
        super().__init__()
        self._taken = {*OWN_KEYS}

    def __missing__(self, name: str) -> str:
        letters = "".join(letter if f"_{letter}".isidentifier() else "_" for letter in name)
        key = letters if letters.isidentifier() else f"_{letters}"
        while key in self._taken:
            key += "_"
        self._taken.add(key)
        self[name] = key
        return key


def row_metadata(names: Sequence[str], values: Sequence[Any], parsed: bool, keys: ColumnKeys) -> Metadata:
    """Convert columns to names that filters can use and values that indexes can store."""
    return {
        keys[name]: (number_in(storable(value)) if value else None)
        if parsed and isinstance(value, str)
        else _plain(value)
        for name, value in zip(names, values, strict=True)
    }


def _plain(value: Any) -> str | int | float | bool | None:
    """Convert a value for storage in an index: lists and objects to JSON, dates to text, NaN to None."""
    value = python_number(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return storable(value)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else str(value)
    if isinstance(value, list | dict):
        return json.dumps(value, default=lambda one: found if (found := python_number(one)) is not one else str(one))
    return storable(str(value))


def python_number(value: Any) -> Any:
    """Convert NumPy numbers and booleans to Python ones, and return anything else unchanged."""
    return value.item() if isinstance(value, np.number | np.bool_) else value


def storable(text: str) -> str:
    """Replace characters that no index can store, nulls and lone surrogates, with U+FFFD."""
    text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def stored_path(path: Path) -> str:
    """A file's path as an index stores it: absolute, without following links."""
    return os.path.abspath(path)  # noqa: PTH100, Path.resolve follows links


def _decoded_file(path: Path) -> str:
    return _decoded(_bytes_of(path), path, "utf-8")


def _bytes_of(path: Path) -> bytes:
    with open_bytes(path) as file:
        data: bytes = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise BadInput(f"{path} has more than {MAX_BYTES:,} bytes; split it into several files")
    return data


def _decoded(data: bytes, path: Path, encoding: str) -> str:
    """A file's text, keeping its line breaks, so that offsets match the file."""
    try:
        text = data.decode("utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}, line {line} is not valid {encoding.upper()} (byte {error.start + 1:,})") from None
    except LookupError:
        raise BadInput(f"{path} declares the encoding {encoding!r}, which is unknown") from None
    except UnicodeError:  # raised for encodings that are not character sets, such as idna
        raise BadInput(f"{path} declares the encoding {encoding!r}, but does not use it") from None
    return storable(text)


def _estimate(path: Path, whole: bool) -> int:
    ending = data_ending(path)
    if ending in WHOLE or (ending == ".txt" and whole):
        return 1
    lines = 0
    with suppress(BadInput, OSError, *DAMAGED):  # reading the file will report the error
        if ending == ".parquet":
            return len(Texts(path))
        with open_bytes(path) as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                lines += block.count(b"\n")
    return max(0, lines - (ending in (".csv", ".tsv")))


WHOLE: dict[str, Callable[[Path], Document]] = {
    **dict.fromkeys((".md", ".markdown"), _markdown),
    **dict.fromkeys((".html", ".htm"), _html),
    **dict.fromkeys((".rst", ".org", ".adoc"), _plain_text),
    **dict.fromkeys((".pdf", ".docx"), _office),
}
"""Suffixes of files that contain one document."""
NEEDED = {".pdf": "pypdf", ".docx": "docx"}
"""Modules of the extra `documents` that some formats require."""
ENDINGS = (*READABLE_ENDINGS, *WHOLE)
"""Suffixes of all files that contain documents."""


PROGRAM = Path(__file__).with_name("office_reader.py")
SECONDS = 120
"""The time limit per file; a page takes about 0.03 s."""


def office_text(path: Path) -> tuple[str, str]:
    """The text and title of a file; either is empty if missing."""
    command = [sys.executable, "-P", str(PROGRAM), str(path.absolute())]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise BadInput(f"{path} was not read within {SECONDS} s; split it, or save it again") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise BadInput(f"{path} crashed the process that read it (exit {done.returncode}); save it again") from None
    if "error" in answer:
        raise BadInput(f"{path} {answer['error']}")
    return answer["text"], answer["title"]
