"""Reading rows from a file, one at a time: its texts, or several of its columns, which may be numbers."""

import csv
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..runtime.installation import missing_extra

USUAL = ("text", "sentence", "sentence1", "content", "body", "question", "query", "title")

Choose = Callable[[Sequence[str]], Sequence[str]]
"""Given the names of a file's columns, returns those to read."""
Row = tuple[str, Sequence[Any]]
"""The place of a row ("line 3"), and its values in the chosen columns."""


@dataclass(frozen=True)
class Texts:
    """The texts of a .txt, .csv, .tsv, .jsonl or .parquet file; `column` selects one of several columns.

    It can be iterated more than once, and is never loaded whole: `len` reads through the file, or reads the count that
    Parquet stores. Every row is a text, empty ones too, so that vectors match rows: a blank line of a .txt or of a .csv
    with one column is an empty text. In files with several columns, and in JSON, blank lines are skipped.
    """

    path: Path
    column: str | None = None

    def __post_init__(self) -> None:
        _check(self.path)

    def __iter__(self) -> Iterator[str]:
        if self.column is not None and self.path.suffix.lower() == ".txt":
            raise BadInput(f"{self.path} has lines and no columns, so --column {self.column} means nothing")
        for place, (text,) in file_rows(self.path, lambda names: [choose_text_column(names, self.column, self.path)]):
            if not isinstance(text, str):
                raise BadInput(
                    f"{self.path}, {place}: expected a text, found {str(text)[:40]!r} ({type(text).__name__})"
                )
            yield text

    def __len__(self) -> int:
        return self._length

    @cached_property
    def _length(self) -> int:
        if self.path.suffix.lower() == ".parquet":
            return int(_open_parquet(self.path).metadata.num_rows)
        return sum(1 for _ in self)


@dataclass(frozen=True)
class Table:
    """Some columns of a file in memory; errors of `texts` and `numbers` name the row with an invalid value."""

    path: Path
    columns: dict[str, list[Any]]
    places: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, choose: Choose) -> "Table":
        """Read the columns that `choose` selects among those of the file (a .txt has one, named text)."""
        _check(path)
        table = cls(path, {})

        def chosen(names: Sequence[str]) -> Sequence[str]:
            table.columns.update({name: [] for name in choose(names)})
            return list(table.columns)

        for place, values in file_rows(path, chosen):
            table.places.append(place)
            for column, value in zip(table.columns.values(), values, strict=True):
                column.append(value)
        if not table.columns:
            chosen([])  # its error names the expected columns
        return table

    def texts(self, name: str) -> list[str]:
        """A column of texts, checked to have no blank one."""
        for place, text in zip(self.places, self.columns[name], strict=True):
            if not isinstance(text, str) or not text.strip():
                raise BadInput(f"{self.path}, {place}: {name} is {text!r}; expected a text")
        return self.columns[name]

    def numbers(self, name: str) -> list[float]:
        """A column of numbers, or of texts that can be converted to numbers."""
        found = []
        for place, value in zip(self.places, self.columns[name], strict=True):
            try:
                found.append(float(value))
            except (TypeError, ValueError):
                raise BadInput(f"{self.path}, {place}: {name} is {value!r}; expected a number") from None
        return found


def standard_input() -> Iterator[str]:
    """The lines of standard input, one text each, as they arrive."""
    if sys.stdin is None:
        raise BadInput("standard input is closed; expected texts there, a line each, or the name of a file")
    lines = _decoded(getattr(sys.stdin, "buffer", sys.stdin), "standard input")
    return (line.rstrip("\r\n") for line in lines)


def _check(path: Path) -> None:
    if path.suffix.lower() not in READABLE:
        raise BadInput(f"{path} ends in {path.suffix!r}; expected one of {', '.join(READABLE)}")
    if not path.is_file():
        raise BadInput(f"{path} is not there" if not path.exists() else f"{path} is no file")


def file_rows(path: Path, choose: Choose) -> Iterator[Row]:
    def once(names: Sequence[str]) -> Sequence[str]:
        chosen, counts = choose(names), Counter(names)
        repeated = next((name for name in chosen if counts[name] > 1), None)
        if repeated is not None:
            raise BadInput(
                f"{path} has {counts[repeated]} columns named {repeated!r}, so which one is meant is unknown; "
                "give each a different name"
            )
        return chosen

    return READABLE[path.suffix.lower()](path, once)


def choose_text_column(names: Sequence[str], column: str | None, path: Path) -> str:
    """The column requested, or the only one with a usual name for a column of texts."""
    if column is not None and column in names:
        return column
    if column is None:
        usual = [name for name in USUAL if name in names] or (list(names) if len(names) == 1 else [])
        if len(usual) == 1:
            return usual[0]
    asked = "which column holds the texts?" if column is None else f"there is no column {column!r};"
    raise BadInput(f"{path}: {asked} it has {', '.join(names) or 'none'} (choose one with --column)")


def _decoded(lines: Iterable[bytes | str], source: object) -> Iterator[str]:
    """Decode lines of bytes one by one, so that an error can name its line."""
    for number, line in enumerate(lines, 1):
        try:
            yield line if isinstance(line, str) else line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise BadInput(f"{source}, line {number} is not UTF-8 (byte {error.start + 1} is {byte:#04x})") from None


def _lines(path: Path, choose: Choose) -> Iterator[Row]:
    width = len(choose(["text"]))
    with path.open("rb") as file:
        for number, line in enumerate(_decoded(file, path), 1):
            yield f"line {number}", [line.rstrip("\r\n")] * width


def _separated(delimiter: str) -> Callable[[Path, Choose], Iterator[Row]]:
    def rows(path: Path, choose: Choose) -> Iterator[Row]:
        with path.open("rb") as file:
            reader = csv.reader(_decoded(file, path), delimiter=delimiter, strict=True)
            read, begins = _any_length(reader), 1
            try:
                names = next(read, [])
                position = {name: i for i, name in enumerate(names)}
                expected = [position[name] for name in choose(names)]
                begins = reader.line_num + 1
                for row in read:
                    values = row or [""]
                    if len(values) == len(names):
                        yield f"line {reader.line_num}", [values[i] for i in expected]
                    elif row:
                        raise BadInput(
                            f"{path}, line {reader.line_num}: this row has {len(row)} fields, and the first line names "
                            f"{len(names)} columns"
                        )
                    begins = reader.line_num + 1
            except csv.Error as error:
                why = _stray_quote(path, delimiter, begins) or f"line {reader.line_num} cannot be read: {error}"
                raise BadInput(f"{path}, {why}") from None

    return rows


def _any_length(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The reader's rows, without a limit on field length; csv's limit is process-wide, so it is restored after each."""
    while True:
        before = csv.field_size_limit(1 << 30)
        try:
            row = next(reader, None)
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield row


def _stray_quote(path: Path, delimiter: str, begins: int) -> str | None:
    """What is wrong with the quotes of the row that begins on this line, which is read again; None if nothing is."""
    quoted, opens, number = False, begins, begins
    with path.open("rb") as file:
        for number, line in islice(enumerate(_decoded(file, path), 1), begins - 1, None):
            place = 0
            while place >= 0:
                if not quoted:
                    place = _opening_quote(line, delimiter, place)
                    quoted, opens = place >= 0, number
                else:
                    place, rest = _closing_quote(line, place)
                    quoted = place < 0
                    if not quoted and rest not in (delimiter, "\r", "\n", ""):
                        return f"line {opens}: a quote opens here, and after its end on line {number} {MORE} {QUOTES}"
    return f"line {opens}: a quote opens here and is never closed. {QUOTES}" if quoted else None


MORE = "stands more text before the next column."
QUOTES = 'A text that has quotes is written between quotes, with its own doubled: "she said ""no"""'


def _opening_quote(line: str, delimiter: str, place: int) -> int:
    """The position after the next quote that is the first character of a field; -1 if there is none."""
    if place == 0 and line.startswith('"'):
        return 1
    found = line.find(f'{delimiter}"', place)
    return found + 2 if found >= 0 else -1


def _closing_quote(line: str, place: int) -> tuple[int, str]:
    """The position after the quote that ends the field, and the character there; -1 if the field continues."""
    while (found := line.find('"', place)) >= 0:
        if not line.startswith('""', found):
            return found + 1, line[found + 1 : found + 2]
        place = found + 2
    return -1, ""


def _objects(path: Path, choose: Choose) -> Iterator[Row]:
    expected: Sequence[str] | None = None
    with path.open("rb") as file:
        for number, line in enumerate(_decoded(file, path), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{path}, line {number} is no JSON: {error}") from None
            if isinstance(row, str):
                row = {"text": row}
            if not isinstance(row, dict):
                raise BadInput(f"{path}, line {number} holds a {type(row).__name__}; expected an object or a text")
            expected = choose(list(row)) if expected is None else expected
            yield f"line {number}", [row.get(name) for name in expected]


def _parquet(path: Path, choose: Choose) -> Iterator[Row]:
    file = _open_parquet(path)
    expected = list(choose(file.schema_arrow.names))
    row = 0
    try:
        for batch in file.iter_batches(columns=expected):
            for values in zip(*(batch.column(name).to_pylist() for name in expected), strict=True):
                yield f"row {row}", values
                row += 1
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read after row {row}: {error}") from None


def _open_parquet(path: Path) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "parquet", f"reading {path.name}") from None
    try:
        return pq.ParquetFile(path)
    except (ValueError, OSError) as error:
        raise BadInput(f"{path} is no Parquet file: {error}") from None


READABLE: dict[str, Callable[[Path, Choose], Iterator[Row]]] = {
    ".txt": _lines,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".jsonl": _objects,
    ".parquet": _parquet,
}
