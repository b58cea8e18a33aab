"""The files that a command reads, so that it does not overwrite them."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import BadInput
from ..runtime.home_folder import expanded


def input_files(*names: str | None) -> list[Path]:
    """The files that these names refer to: paths, data sets, or - (a file redirected to standard input)."""
    found: list[Path] = []
    for name in filter(None, names):
        if name == "-":
            found += _standard_input()
        elif (path := expanded(name)).exists():
            found.append(path)
        else:
            from ..data.datasets import local_files

            found += local_files(name)
    return found


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


def _standard_input() -> list[Path]:
    """The file that standard input was redirected from, if there is one and the system can name it (Linux, macOS)."""
    with suppress(AttributeError, OSError, ValueError):  # the stream is closed, or not a system file
        path = Path(f"/dev/fd/{sys.stdin.fileno()}")
        return [path] if path.is_file() else []
    return []


def column_names(name: str) -> list[str]:
    from ..data.datasets import columns_of

    return list(columns_of(name)[0])


def texts_by_column(path: Path) -> dict[str, list[str]]:
    """A file's columns of texts, under the names that data sets use; blank lines of a .txt file are left out."""
    from ..data.leaks import text_columns
    from ..files import Table, Texts

    if path.suffix.lower() == ".txt":
        return {"text": [text for text in Texts(path) if text.strip()]}

    def choose(available: Sequence[str]) -> Sequence[str]:
        try:
            return text_columns(available)
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from None

    table = Table.read(path, choose)
    return {name: table.texts(name) for name in table.columns}


def objectives_hint(data: str, kind: str | None, renamed: Sequence[str]) -> str:
    """The objectives for this kind of model that fit the renamed columns of the data, or else how to rename them."""
    from ..data.column_names import ColumnNames, renaming_example
    from ..train.objectives.registry import OBJECTIVES, RERANKER_OBJECTIVES, fitting_hint, fitting_objectives

    present, table = column_names(data), OBJECTIVES if kind in (None, "embedder") else RERANKER_OBJECTIVES
    columns = list(ColumnNames.parse(renamed).rename(dict.fromkeys(present, ())))
    example = f". To rename columns: {renaming_example(present)}"
    return fitting_hint(columns, table) + ("" if fitting_objectives(columns, table) else example)
