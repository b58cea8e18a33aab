"""Reads data sets by name: the columns of a file in the folder LIKEWISE_DATA, or of its copy on the Hugging Face hub.

    columns = read_dataset("stsb/test")   # {"sentence1": [...], "sentence2": [...], "score": [5.0, 4.75, ...], ...}
    check_dataset("stsb/test").state      # "complete"

LIKEWISE_DATA holds files called NAME.parquet, .csv, .tsv or .jsonl. Your own copies work too; any differences from the
published data are reported.
"""

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatch
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from ..errors import BadInput, DataNotFound, MissingExtra
from ..files import READABLE, Table, Texts
from ..model_files.hub import snapshot
from ..runtime.home_folder import expanded
from ..wording import counted, counted_of
from .catalogue import DATASETS, Completeness, Dataset, DatasetFile
from .columns import DatasetColumns, read_columns

DATA_FOLDER_VARIABLE = "LIKEWISE_DATA"
FORMATS = (".parquet", ".csv", ".tsv", ".jsonl")
HUB_FORMATS = (".parquet", ".jsonl", ".jsonl.gz", ".csv", ".tsv")  # in order of preference
MAX_LOADED = 32  # files kept in memory

DatasetState = Literal[Completeness, "changed", "unchecked", "unreadable", "missing"]


@dataclass(frozen=True)
class DatasetCheck:
    """The local copy of a file, compared with the published one.

    `state` is "complete", "partial" or "look-alike" if the file is the one in the catalogue; "changed" if its bytes or
    rows differ; "unchecked" if the catalogue has nothing to compare it with; else "unreadable" or "missing".
    """

    name: str
    path: Path | None
    rows: int | None
    published: int | None
    state: DatasetState
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedDataset:
    """A file's columns in order, and notes to report with scores on it."""

    columns: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...]


def file_path(name: str | Path) -> Path | None:
    """The file with this name if it exists or has a data file's suffix; None if it is the name of a data set."""
    path = expanded(name)
    return path if path.suffix.lower() in READABLE or path.exists() else None


def columns_of(name: str | Path) -> tuple[DatasetColumns, Sequence[str]]:
    """The columns of a file or a data set, and the location of each row of a file ("line 3")."""
    path = file_path(name)
    if path is None:
        return read_dataset(str(name)), ()
    table = Table.read(path, list)
    return table.columns, table.places


def read_dataset(name: str) -> DatasetColumns:
    """The columns of a data set such as "stsb/test": the ones in the catalogue, and any others the file has.

    Scores are numbers; rows without a score are left out, and a warning reports their number.
    """
    return {column: list(values) for column, values in load_dataset(name).columns.items()}


def load_dataset(name: str) -> LoadedDataset:
    """Like `read_dataset`, with notes. The columns of an unchanged file are cached, so treat them as read-only."""
    tried: list[str] = []
    paths, remote = _local(name, tried), False
    if not paths:
        paths, remote = _remote(name, tried), True
    if not paths:
        raise _not_found(name, tried)
    loaded, noteworthy = _load_files(name, paths, tuple(path.stat().st_mtime_ns for path in paths), remote)
    if noteworthy:
        warnings.warn(f"{name}: {'; '.join(loaded.notes)}", stacklevel=3)
    return loaded


def check_dataset(name: str) -> DatasetCheck:
    """Compare the local file with the published one; nothing is downloaded."""
    file = dataset_entry(name)[1]
    paths = _local(name, [])
    if not paths:
        return DatasetCheck(name, None, None, file.published, "missing")
    try:
        rows = _count(paths[0])
    except (BadInput, MissingExtra) as error:
        return DatasetCheck(name, paths[0], None, file.published, "unreadable", (str(error),))
    state, notes = _compare(file, rows, _digest(paths[0], paths[0].stat().st_mtime_ns))
    return DatasetCheck(name, paths[0], rows, file.published, state, notes)


def dataset_names() -> Iterator[str]:
    """Every name in the catalogue: "sts12/test", …"""
    return (f"{dataset.name}/{file}" for dataset in DATASETS.values() for file in dataset.files)


def dataset_entry(name: str) -> tuple[Dataset | None, DatasetFile]:
    """The catalogue's entry for a name; for your own files, None and an empty entry."""
    dataset = DATASETS.get(name.split("/")[0])
    file = dataset.files.get(name.partition("/")[2]) if dataset else None
    return dataset, file or DatasetFile(())


def dataset_credit(name: str) -> dict[str, str | None]:
    """Facts about a file for model cards: licence, hub name, sha256 of the local copy; each is None if unknown."""
    dataset, file = dataset_entry(name)
    path = check_dataset(name).path
    return {
        "licence": dataset.licence if dataset else None,
        "hub": file.hub.repository if file.hub else None,
        "sha256": _sha256(path, path.stat().st_mtime_ns) if path else None,
    }


def local_files(name: str) -> tuple[Path, ...]:
    """The local files of a data set; nothing is downloaded."""
    return _local(name, [])


def data_folder() -> Path | None:
    root = os.environ.get(DATA_FOLDER_VARIABLE)
    return expanded(root) if root else None


def _local(name: str, tried: list[str]) -> tuple[Path, ...]:
    root = data_folder()
    if root is None:
        tried.append(f"{DATA_FOLDER_VARIABLE} is not set; set it to the folder that holds your data sets")
        return ()
    if not name or Path(name).is_absolute() or ".." in Path(name).parts:
        tried.append(f"{DATA_FOLDER_VARIABLE}: {name!r} is not the name of a file under {root}")
        return ()
    for ending in FORMATS:
        path = root / f"{name}{ending}"
        if path.is_file():
            return (path,)
    missing = "" if root.is_dir() else " (there is no such folder)"
    tried.append(f"{DATA_FOLDER_VARIABLE}: {root / name}{{{','.join(FORMATS)}}}{missing}")
    return ()


def _remote(name: str, tried: list[str]) -> tuple[Path, ...]:
    """The files downloaded from the hub, in the order of their patterns; if there are none, `tried` gets the reason."""
    hub = dataset_entry(name)[1].hub
    if hub is None:
        return ()
    patterns = list(hub.files)
    folder = snapshot(hub.repository, tried, repo_type="dataset", revision=hub.revision, allow_patterns=patterns)
    if folder is None:
        return ()
    paths = tuple(path for pattern in hub.files for path in _matching(folder, pattern))
    if not paths:
        tried.append(
            f"the hub's {hub.repository}: no file matches {' or '.join(hub.files)} at revision {hub.revision[:7]}"
        )
    return paths


def _matching(folder: Path, pattern: str) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if fnmatch(path.relative_to(folder).as_posix(), pattern))
    by_format = ([path for path in files if path.name.endswith(ending)] for ending in HUB_FORMATS)
    return next((paths for paths in by_format if paths), [])


def _not_found(name: str, tried: Sequence[str]) -> DataNotFound:
    dataset, file = dataset_entry(name)
    lines = [f"the data set {name!r} was not found. Looked in:", *(f"  · {line}" for line in tried)]
    if dataset is None:
        near = get_close_matches(name, [*dataset_names(), *DATASETS])
        lines.append(f"Did you mean {' or '.join(near)}?" if near else "To list all data sets: likewise data list")
    elif not file.columns:
        lines.append(f"{dataset.name} has the files {', '.join(f'{dataset.name}/{part}' for part in dataset.files)}")
    else:
        lines += [f"To get it: {dataset.obtain}", f"  ({dataset.homepage})", f"Columns: {', '.join(file.columns)}"]
    return DataNotFound("\n".join(lines))


@lru_cache(maxsize=MAX_LOADED)
def _load_files(
    name: str, paths: tuple[Path, ...], stamps: tuple[int, ...], remote: bool
) -> tuple[LoadedDataset, bool]:
    """The data set, and whether its notes deserve a warning each time it is read."""
    file = dataset_entry(name)[1]
    filename_column = file.hub.filename_column if remote and file.hub else None
    parts = [read_columns(path, name, file, filename_column) for path in paths]
    tables, dropped = [table for table, _ in parts], sum(count for _, count in parts)
    columns = {column: [x for table in tables for x in table.columns[column]] for column in tables[0].columns}
    rows = sum(len(table.places) for table in tables) + dropped
    state, notes = _compare(file, rows, None if remote else _digest(paths[0], stamps[0]))
    if dropped:
        of = counted(rows, "row")
        notes = (*notes, counted_of(dropped, of, "has no score and was left out", "have no score and were left out"))
    noteworthy = dropped > 0 or (state == "changed" and rows not in (file.rows, file.published))
    return LoadedDataset(columns, notes), noteworthy


def _count(path: Path) -> int:
    if path.suffix == ".parquet":
        return len(Texts(path))  # the count in the file's metadata
    return len(Table.read(path, lambda _: []).places)


def _digest(path: Path, stamp: int) -> str | None:
    """The sha256 of a Parquet file; copies in other formats cannot be compared byte by byte."""
    return _sha256(path, stamp) if path.suffix == ".parquet" else None


@cache
def _sha256(path: Path, stamp: int) -> str:  # noqa: ARG001, a changed file gets a new time stamp
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _compare(file: DatasetFile, rows: int, sha256: str | None) -> tuple[DatasetState, tuple[str, ...]]:
    """The state of a file compared with the catalogue; `sha256` is None if bytes cannot be compared."""
    partial_note = (f"{rows:,} of {file.published:,} published rows",) if file.published not in (None, rows) else ()
    if sha256 is not None and sha256 == file.sha256:
        return file.kind, partial_note
    if file.rows is None and file.published is None:
        return "unchecked", ()
    different_bytes = sha256 is not None and file.sha256 is not None
    if rows == file.published and (not different_bytes or file.rows != rows):
        return "complete", ()
    if rows == file.rows and not different_bytes:
        return file.kind, partial_note
    if rows in (file.rows, file.published):
        return "changed", ("the same number of rows as the catalogue's copy, but different bytes", *partial_note)
    return "changed", partial_note or (f"{counted(rows, 'row')}; the catalogue's copy has {file.rows:,}",)
