"""A data set's columns under the catalogue's names: scores as numbers, texts as strings."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import Table
from .catalogue import DatasetFile
from .catalogue.entry import TEXT_COLUMNS

DatasetColumns = Mapping[str, Sequence[Any]]
"""The columns of a data set by name, all of the same length."""


def columns_digest(columns: Mapping[str, Iterable[Any]]) -> str:
    """The digest of a data set's values, so that a different copy of the data gets its own results."""
    hasher = hashlib.sha256()
    for name, values in sorted(columns.items()):
        hasher.update(f"{name} {list(values)!r}".encode("utf-8", "surrogatepass"))
    return hasher.hexdigest()[:32]


def read_columns(path: Path, name: str, file: DatasetFile, filename_column: str | None = None) -> tuple[Table, int]:
    """Read a file under the catalogue's column names; also return how many rows were dropped for lack of a score.

    `filename_column` names a column to fill with the file's name (without its suffix) if the file does not have it.
    """
    table = _renamed(path, name, file, filename_column)
    if filename_column and filename_column not in table.columns:
        table.columns[filename_column] = [path.stem] * len(table.places)
    table, dropped = _with_scores(table)
    for column in file.columns:
        if column in TEXT_COLUMNS:
            _check_texts(table, column, name)
        elif column == "label":
            table.columns[column] = _as_integers(table.columns[column])
    return table, dropped


def _renamed(path: Path, name: str, file: DatasetFile, filename_column: str | None) -> Table:
    catalogue_names: dict[str, str] = {}

    def choose(available: Sequence[str]) -> Sequence[str]:
        for column in file.columns:
            file_name = column if column in available else file.aliases.get(column, column)
            if file_name in available:
                catalogue_names[file_name] = column
            elif column != filename_column:
                raise BadInput(
                    f"{path} was read as {name}; expected the columns {', '.join(file.columns)}; it has "
                    f"{', '.join(available) or 'none'}"
                )
        return available

    table = Table.read(path, choose)
    columns = {catalogue_names.get(column, column): values for column, values in table.columns.items()}
    return Table(path, columns, table.places)


def _with_scores(table: Table) -> tuple[Table, int]:
    if "score" not in table.columns:
        return table, 0
    keep = [not _is_missing(score) for score in table.columns["score"]]
    columns = {name: [x for x, scored in zip(xs, keep, strict=True) if scored] for name, xs in table.columns.items()}
    result = Table(table.path, columns, [p for p, scored in zip(table.places, keep, strict=True) if scored])
    columns["score"] = result.numbers("score")
    return result, keep.count(False)


def _is_missing(score: Any) -> bool:
    if isinstance(score, str):
        return score.strip().lower() in ("", "nan")
    return score is None or (isinstance(score, float) and math.isnan(score))


def _check_texts(table: Table, column: str, name: str) -> None:
    for place, text in zip(table.places, table.columns[column], strict=True):
        if not isinstance(text, str):
            raise BadInput(f"{table.path} ({name}), {place}: {column} is {text!r}; expected a text")


def _as_integers(labels: list[Any]) -> list[Any]:
    """Labels as integers if the file is in a text format and all its labels are whole numbers."""
    integers = all(isinstance(label, str) and label.isdecimal() for label in labels)
    return [int(label) for label in labels] if integers else labels
