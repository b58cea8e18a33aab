"""Columns of texts and scores from .csv, .tsv, .jsonl, .parquet [extra: parquet] and .txt files."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput, missing

Table = Mapping[str, Sequence[Any]]


def read_table(path: Path) -> Table:
    """The columns of a file, by name."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise BadInput(f"{path} ends in {path.suffix!r}; wanted one of {', '.join(READERS)}")
    try:
        return reader(path)
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None


def texts_of(table: Table, name: str, path: Path) -> list[str]:
    """A column of texts, each checked."""
    column = list(table[name])
    for i, text in enumerate(column, 1):
        if not isinstance(text, str) or not text.strip():
            raise BadInput(f"{path}, row {i}: {name} is {text!r}; wanted a text")
    return column


def numbers_of(table: Table, name: str, path: Path) -> list[float]:
    """A column of numbers, each checked."""
    found = []
    for i, value in enumerate(table[name], 1):
        try:
            found.append(float(value))
        except (TypeError, ValueError):
            raise BadInput(f"{path}, row {i}: {name} is {value!r}; wanted a number") from None
    return found


def _separated(delimiter: str) -> Callable[[Path], Table]:
    def read(path: Path) -> Table:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL))
        if not rows:
            raise BadInput(f"{path} is empty; wanted a first line that names its columns")
        names = rows[0]
        for i, row in enumerate(rows[1:], 1):
            if len(row) != len(names):
                raise BadInput(f"{path}, row {i} has {len(row)} fields; its first line names {len(names)} columns")
        return {name: [row[c] for row in rows[1:]] for c, name in enumerate(names)}

    return read


def _jsonl(path: Path) -> Table:
    rows = []
    for i, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            row = json.loads(line) if line.strip() else None
        except ValueError as error:
            raise BadInput(f"{path}, line {i} is no JSON: {error}") from None
        if row is not None and not isinstance(row, dict):
            raise BadInput(f"{path}, line {i} holds {type(row).__name__}; wanted an object with named fields")
        rows += [row] if row is not None else []
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _parquet(path: Path) -> Table:
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import read_table as read
    except ImportError:
        raise missing("pyarrow", "parquet", f"Reading {path}") from None
    if not path.is_file():
        raise FileNotFoundError(path)
    try:
        return read(path).to_pydict()  # type: ignore[no-any-return]
    except ArrowInvalid as error:
        raise BadInput(f"{path} is no parquet file: {error}") from None


def _lines(path: Path) -> Table:
    return {"text": [line for line in path.read_text("utf-8").splitlines() if line.strip()]}


READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".jsonl": _jsonl,
    ".parquet": _parquet,
    ".txt": _lines,
}
