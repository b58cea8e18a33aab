"""Saving a model over another: the files of the one before go, and at no moment does a folder load as a mix of both."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..errors import BadModel
from ..runtime.atomic_files import apply_umask, check_is_folder, followed, naming_full_disk, unwritable
from ..runtime.temporary_files import temporary_folder
from .companions import ENTRY_FILES, WEIGHTS, files_of_model, parts_of_model

SAVING_MARK = ".saving"
"""The file that marks a folder into which a model is being saved, or was when the process was killed."""


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into, which becomes `folder` when the block ends, and is removed if the block fails.

    A new folder appears whole, by one renaming. Into one that is there, the files move one by one; if they are a
    model's, all files of the model that was there go (`companions`), and while they move, the folder is marked as one
    that nobody can load (`saving.check_saved`). Other files there stay.

    Raises:
        BadInput: the folder cannot be written to.
    """
    whole = followed(folder)
    check_is_folder(folder)
    with ExitStack() as stack:
        try:
            partial = stack.enter_context(temporary_folder(whole, staging_parent(whole)))
        except OSError as error:
            raise unwritable(folder, error) from None
        with naming_full_disk(folder):
            yield partial
        for path in files_in(partial):
            apply_umask(path, partial)
        try:
            move_into(partial, whole)
        except OSError as error:
            raise unwritable(folder, error) from None


def check_saved(folder: Path) -> None:
    """Refuses a folder into which a model was being saved when the process was killed: its files may be of two models.

    Raises:
        BadModel: it is one.
    """
    if os.path.lexists(folder / SAVING_MARK):  # of a folder without rights, the reading of its files says so
        raise BadModel(
            f"{folder} holds files of a model whose saving was cut short, or is going on just now, beside those of the "
            f"model before it ({SAVING_MARK} in it marks that). Save the model there again, and it is whole"
        )


def staging_parent(folder: Path) -> Path:
    """Where files for the folder are made ready: beside it, or in it where its surroundings are not ours to write to
    or on another disk, as those of a container's volume are.
    """
    beside = not folder.is_dir() or (os.access(folder.parent, os.W_OK) and not folder.is_mount())
    return folder.parent if beside else folder


def move_into(partial: Path, folder: Path) -> None:
    """The files of `partial` into the folder, as whose model they are loaded once all of them are there."""
    if not folder.exists():
        partial.rename(folder)
        return
    new = sorted(path.relative_to(partial) for path in files_in(partial))
    if any(name.name in ENTRY_FILES or WEIGHTS.fullmatch(name.name) for name in new):
        _replace_model(partial, folder, new)
    else:
        _move_files(partial, folder, new)


def _replace_model(partial: Path, folder: Path, new: Sequence[Path]) -> None:
    """The model's files in place of those of the one that is there. From the first step to the last the folder bears
    the mark; who does not know it finds no modules.json nor config.json for as long.
    """
    _check_room(folder, new)
    mark = folder / SAVING_MARK
    mark.write_text("a model is being saved into this folder, or was when the process was killed\n", "utf-8")
    entrances = [Path(name) for name in ENTRY_FILES]
    for name in entrances:
        (folder / name).unlink(missing_ok=True)
    for path in list(files_of_model(folder)):
        path.unlink()
    for part in parts_of_model(folder):
        if not any(part.iterdir()):
            part.rmdir()
    _move_files(partial, folder, [name for name in new if name not in entrances])
    _move_files(partial, folder, [name for name in entrances if name in new])
    mark.unlink()


def _check_room(folder: Path, new: Sequence[Path]) -> None:
    """Refuses, while nothing is lost yet, a folder where a file stands in the way of a folder or the reverse."""
    for name in new:
        parents = [folder / parent for parent in name.parents]
        wrong = next((path for path in parents if path.exists() and not path.is_dir()), None)
        if wrong is not None:
            raise NotADirectoryError(errno.ENOTDIR, f"{wrong.name} is a file, and the model has a folder of that name")
        if (folder / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, f"{name} is a folder, and the model has a file of that name")


def _move_files(partial: Path, folder: Path, names: Sequence[Path]) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).replace(folder / name)


def files_in(folder: Path) -> list[Path]:
    """Every file below the folder."""
    return [path for path in folder.rglob("*") if path.is_file()]
