"""Read the rows of a file one at a time: its texts, or several of its columns, which may be numeric."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..runtime.installation import missing_extra
from .line_formats import LINE_FORMATS, Choose, Row, distinct_columns, json_objects
from .lines import OPENERS, LineReader, data_ending, open_lines

USUAL = ("text", "sentence", "sentence1", "content", "body", "question", "query", "title")

PARQUET_ROWS = 1 << 13
"""How many rows of a Parquet file are in memory as Python values at a time."""


@dataclass(frozen=True)
class Texts:
    """The texts of a .txt, .csv, .tsv, .jsonl or .parquet file; `column` selects one of several columns.

    It can be iterated more than once and is never fully loaded: `len` reads through the file, or uses the count stored
    in Parquet. Every row is a text, even if it is empty, so that vectors match rows: a blank line in a .txt file, or in
    a .csv file with one column, is an empty text. In files with several columns, and in JSON, blank lines are skipped.
    """

    path: Path
    column: str | None = None

    def __post_init__(self) -> None:
        _check(self.path)

    def __iter__(self) -> Iterator[str]:
        if self.column is not None and data_ending(self.path) == ".txt":
            raise BadInput(f"{self.path} has lines but no columns, so --column {self.column} does not apply")
        for place, (text,) in file_rows(self.path, lambda names: [choose_text_column(names, self.column, self.path)]):
            yield checked_cell(text, self.path, place)

    def __len__(self) -> int:
        return self._length

    @cached_property
    def _length(self) -> int:
        if data_ending(self.path) == ".parquet":
            return int(open_parquet(self.path).metadata.num_rows)
        return sum(1 for _ in self)


@dataclass(frozen=True)
class Table:
    """Some columns of a file, in memory; errors in `texts` and `numbers` name the row with the invalid value."""

    path: Path
    columns: dict[str, list[Any]]
    places: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, choose: Choose) -> "Table":
        """Read the columns of the file that `choose` selects (a .txt file has one, named text).

        JSON objects may have different keys: every key names a column, and missing values are None.
        """
        _check(path)
        table = cls(path, {})

        def chosen(names: Sequence[str]) -> Sequence[str]:
            table.columns.update({name: [] for name in choose(names)})
            return list(table.columns)

        rows = _object_rows if data_ending(path) == ".jsonl" else file_rows
        for place, values in rows(path, chosen):
            table.places.append(place)
            for column, value in zip(table.columns.values(), values, strict=True):
                column.append(value)
        if not table.columns:
            chosen([])  # its error lists the expected columns
        return table

    def texts(self, name: str) -> list[str]:
        """A column of texts; raises if a text is blank."""
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
            except (TypeError, ValueError, OverflowError):
                raise BadInput(f"{self.path}, {place}: {name} is {value!r}; expected a number") from None
        return found


def standard_input() -> Iterator[str]:
    """The lines of standard input, one text per line, as they arrive."""
    if sys.stdin is None:
        raise BadInput("standard input is closed; expected one text per line, or the name of a file")
    lines = LineReader("standard input", getattr(sys.stdin, "buffer", sys.stdin))
    return (line.rstrip("\r\n") for line in lines)


def _check(path: Path) -> None:
    if path.is_dir():
        raise BadInput(f"{path} is a folder; expected a file that ends in {', '.join(READABLE)}")
    if data_ending(path) not in READABLE or data_ending(path) == ".parquet" != path.suffix.lower():
        raise BadInput(f"{path} ends in {path.suffix!r}; expected one of {', '.join(READABLE)}")
    if not path.is_file():
        raise BadInput(f"{path} does not exist" if not path.exists() else f"{path} is not a file")


def file_rows(path: Path, choose: Choose) -> Iterator[Row]:
    return READABLE[data_ending(path)](path, distinct_columns(path, choose))


def checked_cell(value: Any, path: Path, place: str) -> str:
    if not isinstance(value, str):
        found = "null" if value is None else f"{str(value)[:40]!r} ({type(value).__name__})"
        raise BadInput(f"{path}, {place}: expected a text, found {found}")
    return value


def choose_text_column(names: Sequence[str], column: str | None, path: Path) -> str:
    """The requested column, or the only column with one of the usual names for texts."""
    if column is not None and column in names:
        return column
    if column is None:
        usual = [name for name in USUAL if name in names] or (list(names) if len(names) == 1 else [])
        if len(usual) == 1:
            return usual[0]
    asked = "cannot tell which column contains the texts" if column is None else f"there is no column {column!r}"
    raise BadInput(f"{path}: {asked}; its columns are {', '.join(names) or 'none'} (choose one with --column)")


def column_of_texts(path: Path, column: str | None) -> str:
    """The column that `Texts` reads, chosen by the first row's names, even if later JSON objects have other names."""
    chosen: list[str] = []

    def choose(names: Sequence[str]) -> Sequence[str]:
        chosen[:] = [choose_text_column(names, column, path)]
        return chosen

    next(file_rows(path, choose), None)
    return chosen[0] if chosen else choose_text_column([], column, path)


def _of_lines(path: Path, choose: Choose) -> Iterator[Row]:
    with open_lines(path) as lines:
        yield from LINE_FORMATS[data_ending(path)](lines, choose)


def _object_rows(path: Path, choose: Choose) -> Iterator[Row]:
    """The rows of a file of JSON objects, which is read twice, because any row may introduce a new key."""
    with open_lines(path) as lines:
        names = dict.fromkeys(name for _, row in json_objects(lines) for name in row)
    chosen = choose([*names]) if names else ()
    with open_lines(path) as lines:
        for place, row in json_objects(lines):
            yield place, [row.get(name) for name in chosen]


def parquet_rows(path: Path, choose: Choose, start: int = 0) -> Iterator[Row]:
    """The rows of a Parquet file after the first `start` rows, located by their numbers, counted from 1."""
    file = open_parquet(path)
    expected = list(choose(file.schema_arrow.names))
    groups, row = _row_groups_from(file.metadata, start)
    try:
        for batch in file.iter_batches(PARQUET_ROWS, groups, columns=expected):
            skipped = min(max(start - row, 0), len(batch))
            columns = [batch.column(name)[skipped:].to_pylist() for name in expected]
            row += skipped
            for values in zip(*columns, strict=True):
                row += 1
                yield f"row {row}", values
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read after row {row}: {error}") from None


def _row_groups_from(metadata: Any, start: int) -> tuple[list[int], int]:
    """The row groups from the one that contains row `start` onwards, and the number of rows before them."""
    first, passed = 0, 0
    while first < metadata.num_row_groups and passed + metadata.row_group(first).num_rows <= start:
        passed += metadata.row_group(first).num_rows
        first += 1
    return list(range(first, metadata.num_row_groups)), passed


def open_parquet(path: Path) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "parquet", f"reading {path.name}") from None
    try:
        return pq.ParquetFile(path)
    except (ValueError, OSError) as error:
        raise BadInput(f"{path} is not a Parquet file: {error}") from None


READABLE: dict[str, Callable[[Path, Choose], Iterator[Row]]] = {
    **dict.fromkeys(LINE_FORMATS, _of_lines),
    ".parquet": parquet_rows,
}
READABLE_ENDINGS = (*READABLE, *(ending + packed for ending in LINE_FORMATS for packed in OPENERS))
"""The suffixes of readable files: those in READABLE, and compressed ones such as .csv.gz."""
