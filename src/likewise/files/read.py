"""Texts from a file, one at a time: a line, or a row of a named column."""

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TextIO

from ..errors import BadInput, missing

USUAL = ("text", "sentence", "sentence1", "content", "body", "question", "query", "title")


@dataclass(frozen=True)
class Texts:
    """The texts of a .txt, .csv, .tsv, .jsonl or .parquet file; `column` where a row has several.

    It can be iterated more than once and counted without being held: `len` reads the file through.
    """

    path: Path
    column: str | None = None

    def __post_init__(self) -> None:
        if self.path.suffix.lower() not in READABLE:
            raise BadInput(f"{self.path} is of no kind that is read here; there are {', '.join(READABLE)}")
        if not self.path.is_file():
            raise BadInput(f"{self.path} is not there" if not self.path.exists() else f"{self.path} is no file")

    def __iter__(self) -> Iterator[str]:
        return READABLE[self.path.suffix.lower()](self.path, self.column)

    def __len__(self) -> int:
        return self._length

    @cached_property
    def _length(self) -> int:
        return sum(1 for _ in self)


def standard_input() -> Iterator[str]:
    """One text a line, as the lines come."""
    return (line.rstrip("\r\n") for line in sys.stdin)


def _open(path: Path) -> TextIO:
    return path.open(encoding="utf-8-sig", errors="strict", newline="")


def _decoded(read: Callable[[Path, str | None], Iterator[str]]) -> Callable[[Path, str | None], Iterator[str]]:
    def reading(path: Path, column: str | None) -> Iterator[str]:
        try:
            yield from read(path, column)
        except UnicodeDecodeError as error:
            raise BadInput(f"{path} is not UTF-8 (byte {error.start:,} is {error.object[error.start]:#04x})") from None

    return reading


@_decoded
def _lines(path: Path, column: str | None) -> Iterator[str]:
    if column is not None:
        raise BadInput(f"{path} has lines and no columns, so --column {column} means nothing")
    with _open(path) as file:
        for line in file:
            yield line.rstrip("\r\n")


def _separated(delimiter: str) -> Callable[[Path, str | None], Iterator[str]]:
    @_decoded
    def rows(path: Path, column: str | None) -> Iterator[str]:
        csv.field_size_limit(1 << 30)
        with _open(path) as file:
            reader = csv.DictReader(file, delimiter=delimiter)
            name = _choose(reader.fieldnames or (), column, path)
            for row in reader:
                if row[name] is None:
                    raise BadInput(f"{path}, line {reader.line_num}: there is no {name!r} in this row")
                yield row[name]

    return rows


@_decoded
def _objects(path: Path, column: str | None) -> Iterator[str]:
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise BadInput(f"{path}, line {number} is no JSON: {error}") from None
            if isinstance(row, dict):
                column = _choose(list(row), column, path)
                row = row[column]
            if not isinstance(row, str):
                raise BadInput(f"{path}, line {number}: wanted a text, found {str(row)[:40]!r} ({type(row).__name__})")
            yield row


def _parquet(path: Path, column: str | None) -> Iterator[str]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise missing("pyarrow", "parquet", f"reading {path.name}") from None
    try:
        table = pq.ParquetFile(path)
    except (ValueError, OSError) as error:
        raise BadInput(f"{path} is no Parquet file: {error}") from None
    name = _choose(table.schema_arrow.names, column, path)
    row = 0
    for batch in table.iter_batches(columns=[name]):
        for text in batch.column(0).to_pylist():
            if not isinstance(text, str):
                raise BadInput(f"{path}, row {row}: wanted a text in {name!r}, found {text!r}")
            yield text
            row += 1


def _choose(names: Sequence[str], column: str | None, path: Path) -> str:
    """The column that was asked for, or the one that is usually meant."""
    if column is not None and column in names:
        return column
    if column is None:
        usual = [name for name in USUAL if name in names] or (list(names) if len(names) == 1 else [])
        if usual:
            return usual[0]
    asked = "which column holds the texts?" if column is None else f"there is no column {column!r};"
    raise BadInput(f"{path}: {asked} it has {', '.join(names) or 'none'} (choose one with --column)")


READABLE: dict[str, Callable[[Path, str | None], Iterator[str]]] = {
    ".txt": _lines,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".jsonl": _objects,
    ".parquet": _parquet,
}
