"""Rows of line-based files: plain text, comma- and tab-separated values, and JSON."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput
from .lines import LineReader

Choose = Callable[[Sequence[str]], Sequence[str]]
"""Given the names of a file's columns, returns those that should be read."""
Row = tuple[str, Sequence[Any]]
"""The location of a row ("line 3"), and its values in the chosen columns."""


def distinct_columns(path: Path, choose: Choose) -> Choose:
    """Wrap `choose` so that it raises an error if several columns share a chosen name."""

    def once(names: Sequence[str]) -> Sequence[str]:
        chosen, counts = choose(names), Counter(names)
        repeated = next((name for name in chosen if counts[name] > 1), None)
        if repeated is not None:
            raise BadInput(
                f"{path} has {counts[repeated]} columns named {repeated!r}, so the name is ambiguous; "
                "give each a different name"
            )
        return chosen

    return once


def text_lines(lines: LineReader, choose: Choose) -> Iterator[Row]:
    width = len(choose(["text"]))
    lines.skip()
    for line in lines:
        if not lines.take_broken():
            yield f"line {lines.line}", [line.rstrip("\r\n")] * width


def separated(delimiter: str) -> Callable[[LineReader, Choose], Iterator[Row]]:
    """Return a reader of delimiter-separated values whose first line names the columns."""

    def rows(lines: LineReader, choose: Choose) -> Iterator[Row]:
        reader = csv.reader(iter(lines), delimiter=delimiter, strict=True)
        read, begins = _any_length(reader), 1
        try:
            names = next(read, [])
            if lines.take_broken():  # without the names in this line, no row can be read, so skipping it is not enough
                raise BadInput(f"{lines.source}, line {lines.line} is not valid UTF-8, but it names the columns; "
                               "save the file as UTF-8")  # fmt: skip
            position = {name: i for i, name in enumerate(names)}
            expected = [position[name] for name in choose(names)]
            lines.skip()
            begins = lines.line + 1
            for row in read:
                if not lines.take_broken() and _is_whole(row, names, lines):
                    values = row or [""]
                    yield f"line {lines.line}", [values[i] for i in expected]
                begins = lines.line + 1
        except csv.Error as error:
            raise BadInput(f"{lines.source}: {_cause(str(error), begins, lines.line, delimiter)}") from None

    return rows


def _cause(error: str, begins: int, line: int, delimiter: str) -> str:
    """Explain an error of the csv module in the row that begins on line `begins` and was read up to line `line`."""
    if error == "unexpected end of data":
        return f"a quote in the row on line {begins} is never closed. {QUOTES}"
    if "new-line character" in error:
        return f"line {begins} has a carriage return in the middle. Save the file with line breaks of \\n or \\r\\n"
    if "expected after" not in error:
        return f"the row on line {begins} cannot be read: {error}"
    where = f"a quote in the row on line {begins} closes on line {line}"
    return f"{where}, but {delimiter!r} or the end of the line does not follow. {QUOTES}"


def _is_whole(row: Sequence[str], names: Sequence[str], lines: LineReader) -> bool:
    """Whether a row has a value for every name; if there are several columns, blank lines are skipped."""
    if len(row or [""]) == len(names):
        return True
    if row:
        lines.reject(
            f"{lines.source}, line {lines.line}: this row has {len(row)} fields, but the first line names "
            f"{len(names)} columns"
        )
    return False


def _any_length(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The reader's rows, without csv's limit on field length; the limit is process-wide, so each read restores it."""
    while True:
        before = csv.field_size_limit(1 << 30)
        try:
            row = next(reader, None)
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield row


QUOTES = 'Enclose a text that contains quotes in quotes, and double those inside it: "she said ""no"""'


def json_objects(lines: LineReader) -> Iterator[tuple[str, dict[str, Any]]]:
    """The location of every row ("line 3"), and its values by name; a bare text becomes a row with a column `text`."""
    for line in lines:
        if lines.take_broken() or not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            lines.reject(f"{lines.source}, line {lines.line} is not valid JSON: {error}")
            continue
        if isinstance(row, str):
            row = {"text": row}
        if isinstance(row, dict):
            yield f"line {lines.line}", row
        else:
            kind = type(row).__name__
            lines.reject(f"{lines.source}, line {lines.line} contains a {kind}; expected an object or a text")


def object_rows(lines: LineReader, choose: Choose) -> Iterator[Row]:
    """Take the columns from the first object (`Table` takes them from all objects); missing values are None."""
    expected: Sequence[str] | None = None
    lines.skip()
    for place, row in json_objects(lines):
        expected = choose(list(row)) if expected is None else expected
        yield place, [row.get(name) for name in expected]


LINE_FORMATS: dict[str, Callable[[LineReader, Choose], Iterator[Row]]] = {
    ".txt": text_lines,
    ".csv": separated(","),
    ".tsv": separated("\t"),
    ".jsonl": object_rows,
}
"""Row readers by file name suffix."""
