"""A file's columns under the names that the catalogue wants: scores as numbers, texts as texts."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import Table
from .catalogue import DatasetFile
from .catalogue.entry import TEXT_COLUMNS
from .downloads import unpacked


def read_columns(path: Path, name: str, file: DatasetFile, stem: str | None = None) -> tuple[Table, int]:
    """The file as a table under the catalogue's names, and how many rows without a score were left out.

    `stem` names a column that is filled with the file's name where the file has it not.

    Raises:
        BadInput: a column that is wanted is not there, or a row has no text or no number.
    """
    with unpacked(path) as plain:
        table = _renamed(plain, path, name, file, stem)
    if stem and stem not in table.columns:
        table.columns[stem] = [path.stem] * len(table.places)
    table, dropped = _with_scores(table)
    for column in file.columns:
        if column in TEXT_COLUMNS:
            _check_texts(table, column, name)
        elif column == "label":
            table.columns[column] = _whole(table.columns[column])
    return table, dropped


def _renamed(plain: Path, path: Path, name: str, file: DatasetFile, stem: str | None) -> Table:
    ours: dict[str, str] = {}

    def choose(found: Sequence[str]) -> Sequence[str]:
        for column in file.columns:
            theirs = column if column in found else file.called.get(column, column)
            if theirs in found:
                ours[theirs] = column
            elif column != stem:
                raise BadInput(
                    f"{path} is to be read as {name}: wanted the columns {', '.join(file.columns)}; it has "
                    f"{', '.join(found) or 'none'}"
                )
        return found

    table = Table.read(plain, choose)
    return Table(path, {ours.get(column, column): values for column, values in table.columns.items()}, table.places)


def _with_scores(table: Table) -> tuple[Table, int]:
    if "score" not in table.columns:
        return table, 0
    keep = [not _unscored(score) for score in table.columns["score"]]
    columns = {name: [x for x, kept in zip(xs, keep, strict=True) if kept] for name, xs in table.columns.items()}
    scored = Table(table.path, columns, [p for p, kept in zip(table.places, keep, strict=True) if kept])
    columns["score"] = scored.numbers("score")
    return scored, keep.count(False)


def _unscored(score: Any) -> bool:
    if isinstance(score, str):
        return score.strip().lower() in ("", "nan")
    return score is None or (isinstance(score, float) and math.isnan(score))


def _check_texts(table: Table, column: str, name: str) -> None:
    for place, text in zip(table.places, table.columns[column], strict=True):
        if not isinstance(text, str):
            raise BadInput(f"{table.path} ({name}), {place}: {column} is {text!r}; wanted a text")


def _whole(labels: list[Any]) -> list[Any]:
    """Labels that a file of text spells as whole numbers, as numbers."""
    spelled = all(isinstance(label, str) and label.isdecimal() for label in labels)
    return [int(label) for label in labels] if spelled else labels
