"""The files that a command reads, so that it does not overwrite them."""

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..runtime.home_folder import expanded


def input_files(*names: str | None) -> list[Path]:
    """The files that names stand for: paths, data sets, or - (a file redirected to standard input)."""
    return [path for name in names if name for path in _behind(name)]


def check_new_file(path: Path | None, endings: Iterable[str], inputs: Iterable[Path] = ()) -> None:
    """Before work starts, reject an output file that is unwritable, has an unknown suffix, or is one of the inputs."""
    from ..runtime.atomic_files import check_ending, check_not_input, check_writable_file

    if path is not None:
        check_ending(path, endings)
        check_not_input(path, inputs)
        check_writable_file(path)


def check_new_folder(folder: Path | None, model: str) -> None:
    """Before work starts, reject an output folder that is unwritable or belongs to the model."""
    from ..runtime.atomic_files import check_not_input, check_writable_folder

    if folder is not None:
        check_not_input(folder, model_folders(model))
        check_writable_folder(folder)


def model_folders(name: str) -> list[Path]:
    """The folder that a model's name stands for, if it is a path or a local model."""
    from ..model_files import local_models

    path = expanded(name)
    found = path if path.exists() else local_models().get(name)
    return [found] if found is not None else []


def _behind(name: str) -> list[Path]:
    if name == "-":
        return _standard_input()
    path = expanded(name)
    if path.exists():
        return [path]
    from ..data.datasets import local_files

    return list(local_files(name))


def _standard_input() -> list[Path]:
    """The file that standard input was redirected from, if there is one and the system can name it (Linux, macOS)."""
    with suppress(AttributeError, OSError, ValueError):  # the stream is closed, or not a system file
        path = Path(f"/dev/fd/{sys.stdin.fileno()}")
        return [path] if path.is_file() else []
    return []


def column_names(name: str) -> list[str]:
    """The columns of a table or a data set."""
    from ..data.datasets import load_dataset
    from ..files import READABLE, Table

    path = expanded(name)
    is_file = path.suffix.lower() in READABLE or path.exists()
    return list(Table.read(path, list).columns if is_file else load_dataset(name).columns)


def objectives_hint(data: str, kind: str | None) -> str:
    """The objectives for this kind of model that fit the columns of a file or data set, or else how to rename them."""
    from ..data.column_names import renaming_example
    from ..train.objectives.registry import OBJECTIVES, RERANKER_OBJECTIVES, fitting_hint, fitting_objectives

    columns, table = column_names(data), OBJECTIVES if kind in (None, "embedder") else RERANKER_OBJECTIVES
    renamed = f". To rename columns: {renaming_example(columns)}"
    return fitting_hint(columns, table) + ("" if fitting_objectives(columns, table) else renamed)
