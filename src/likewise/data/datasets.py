"""Data sets by name: read("stsb/test") gives the columns of a file in the folder LIKEWISE_DATA, or of the hub's copy.

    columns = read("stsb/test")        # {"sentence1": [...], "sentence2": [...], "score": [5.0, 4.75, ...], ...}
    check("stsb/test").state           # "complete"

A file lies there as NAME.parquet, .csv, .tsv or .jsonl. One's own copies are read too; what differs from the
published data is said and not refused.
"""

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from ..errors import BadInput, DataNotFound, MissingExtra
from ..evaluate.task import TaskColumns
from ..files import Table, Texts
from .catalogue import DATASETS, Completeness, Dataset, DatasetFile
from .columns import read_columns
from .downloads import download_files

DATA_FOLDER_VARIABLE = "LIKEWISE_DATA"
ENDINGS = (".parquet", ".csv", ".tsv", ".jsonl")
KEPT = 32  # files kept in memory

DatasetState = Literal[Completeness, "changed", "unchecked", "unreadable", "missing"]


@dataclass(frozen=True)
class DatasetCheck:
    """What is at hand of a file, beside what was published.

    `state` is complete, partial or look-alike where the file is the one that the catalogue knows; changed where its
    bytes or rows are others; unchecked where nothing is known to compare it with; unreadable, or missing.
    """

    name: str
    path: Path | None
    rows: int | None
    published: int | None
    state: DatasetState
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedDataset:
    """The columns of a file, in its order, and what is to be said of it beside a figure."""

    columns: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...]


def read_dataset(name: str) -> TaskColumns:
    """The columns of "stsb/test": those that the catalogue wants, and whatever others the file has.

    Scores are numbers; rows without one are left out, and a warning counts them.

    Raises:
        DataNotFound: the data is not at hand; where it was looked for, and how to get it.
        BadInput: a column that is wanted is not there, or a row has no text or no number.
    """
    return {column: list(values) for column, values in load_dataset(name).columns.items()}


def load_dataset(name: str) -> LoadedDataset:
    """As `read_dataset`, with the notes. An unchanged file is read once, so treat the columns as read-only."""
    tried: list[str] = []
    paths, remote = _local(name, tried), False
    if not paths:
        paths, remote = _remote(name, tried), True
    if not paths:
        raise _not_found(name, tried)
    return _loaded(name, paths, tuple(path.stat().st_mtime_ns for path in paths), remote)


def check_dataset(name: str) -> DatasetCheck:
    """Compares the file at hand with what was published; nothing is downloaded."""
    file = dataset_entry(name)[1]
    paths = _local(name, [])
    if not paths:
        return DatasetCheck(name, None, None, file.published, "missing")
    try:
        rows = _count(paths[0])
    except (BadInput, MissingExtra) as error:
        return DatasetCheck(name, paths[0], None, file.published, "unreadable", (str(error),))
    state, notes = _compared(file, rows, _digest(paths[0], paths[0].stat().st_mtime_ns))
    return DatasetCheck(name, paths[0], rows, file.published, state, notes)


def dataset_names() -> Iterator[str]:
    """Every name that the catalogue knows: "sts12/test", …"""
    return (f"{dataset.name}/{file}" for dataset in DATASETS.values() for file in dataset.files)


def dataset_entry(name: str) -> tuple[Dataset | None, DatasetFile]:
    """What the catalogue knows of a name; of a file of one's own, nothing."""
    dataset = DATASETS.get(name.split("/")[0])
    file = dataset.files.get(name.partition("/")[2]) if dataset else None
    return dataset, file or DatasetFile(())


def dataset_credit(name: str) -> dict[str, str | None]:
    """What a model card says of a file: licence, name on the hub, and the sha256 of what is at hand; None: unknown."""
    dataset, file = dataset_entry(name)
    place = check_dataset(name).path
    return {
        "licence": dataset.licence if dataset else None,
        "hub": file.hub.repository if file.hub else None,
        "sha256": _sha256(place, place.stat().st_mtime_ns) if place else None,
    }


def local_files(name: str) -> tuple[Path, ...]:
    """The files of a data set that are here, none of them downloaded for this."""
    return _local(name, [])


def data_folder() -> Path | None:
    """The folder of data sets, where one is set."""
    root = os.environ.get(DATA_FOLDER_VARIABLE)
    return Path(root).expanduser() if root else None


def _local(name: str, tried: list[str]) -> tuple[Path, ...]:
    root = data_folder()
    if root is None:
        tried.append(f"{DATA_FOLDER_VARIABLE} is not set; it names the folder of data sets")
        return ()
    if not name or Path(name).is_absolute() or ".." in Path(name).parts:
        tried.append(f"{DATA_FOLDER_VARIABLE}: {name!r} is no name of a file under {root}")
        return ()
    for ending in ENDINGS:
        path = root / f"{name}{ending}"
        if path.is_file():
            return (path,)
    there = "" if root.is_dir() else " (there is no such folder)"
    tried.append(f"{DATA_FOLDER_VARIABLE}: {root / name}{{{','.join(ENDINGS)}}}{there}")
    return ()


def _remote(name: str, tried: list[str]) -> tuple[Path, ...]:
    hub = dataset_entry(name)[1].hub
    return download_files(hub, tried) if hub else ()


def _not_found(name: str, tried: Sequence[str]) -> DataNotFound:
    dataset, file = dataset_entry(name)
    told = [f"there is no data {name!r} at hand. Looked for in:", *(f"  · {line}" for line in tried)]
    if dataset is None:
        near = get_close_matches(name, [*dataset_names(), *DATASETS], n=3)
        told.append(f"Did you mean {' or '.join(near)}?" if near else "Known names are listed by: likewise data")
    elif not file.columns:
        told.append(f"{dataset.name} has the files {', '.join(f'{dataset.name}/{part}' for part in dataset.files)}")
    else:
        told += [f"To get it: {dataset.obtain}", f"  ({dataset.homepage})", f"Columns: {', '.join(file.columns)}"]
    return DataNotFound("\n".join(told))


@lru_cache(maxsize=KEPT)
def _loaded(name: str, paths: tuple[Path, ...], stamps: tuple[int, ...], remote: bool) -> LoadedDataset:
    file = dataset_entry(name)[1]
    stem = file.hub.stem if remote and file.hub else None
    parts = [read_columns(path, name, file, stem) for path in paths]
    tables, dropped = [table for table, _ in parts], sum(count for _, count in parts)
    columns = {column: [x for table in tables for x in table.columns[column]] for column in tables[0].columns}
    rows = sum(len(table.places) for table in tables) + dropped
    state, notes = _compared(file, rows, None if remote else _digest(paths[0], stamps[0]))
    if dropped:
        notes = (*notes, f"{dropped:,} of {rows:,} rows have no score and were left out")
    if dropped or (state == "changed" and rows not in (file.rows, file.published)):
        warnings.warn(f"{name}: {'; '.join(notes)}", stacklevel=4)
    return LoadedDataset(columns, notes)


def _count(path: Path) -> int:
    if path.suffix == ".parquet":
        return len(Texts(path))  # which asks the file's own count
    return len(Table.read(path, lambda found: list(found)[:1]).places)


def _digest(path: Path, stamp: int) -> str | None:
    """Its sha256; a copy in another format than Parquet is not byte for byte comparable."""
    return _sha256(path, stamp) if path.suffix == ".parquet" else None


@cache
def _sha256(path: Path, stamp: int) -> str:  # noqa: ARG001, a file that changes has another stamp
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _compared(file: DatasetFile, rows: int, sha256: str | None) -> tuple[DatasetState, tuple[str, ...]]:
    """What a file is beside the catalogue's; `sha256` is None where bytes are not to be compared."""
    part = (f"{rows:,} of {file.published:,} published rows",) if file.published not in (None, rows) else ()
    if sha256 is not None and sha256 == file.sha256:
        return file.kind, part
    if file.rows is None and file.published is None:
        return "unchecked", ()
    other = sha256 is not None and file.sha256 is not None
    if rows == file.published and (not other or file.rows != rows):
        return "complete", ()
    if rows == file.rows and not other:
        return file.kind, part
    if rows in (file.rows, file.published):
        return "changed", ("as many rows as the known copy, but not the same bytes", *part)
    return "changed", part or (f"{rows:,} rows; the known copy has {file.rows:,}",)
