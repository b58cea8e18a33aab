"""Reading JSON with errors that help, and writing files so that a killed process leaves none half done."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import BadInput, BadModel
from .companions import ENTRANCES, WEIGHTS, files_of_model, parts_of_model

SAVING = ".saving"
"""The file that marks a folder into which a model is being saved, or was when the process was killed."""


def read_json(path: Path, default: Any = None) -> Any:
    """What the file holds; `default` if it is not there."""
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return default
    except (ValueError, RecursionError, IsADirectoryError) as error:
        raise BadModel(f"{path} is no JSON: {error}") from None


def read_object(path: Path) -> dict[str, Any]:
    """The object that the file holds; an empty one if it is not there."""
    value = read_json(path, {})
    if not isinstance(value, dict):
        raise BadModel(f"{path} holds a {type(value).__name__}; wanted an object")
    return value


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A path to write to; it becomes `path` when the block ends, and is removed if the block fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    os.close(handle)
    partial = Path(name)
    partial.chmod(0o666 & ~UMASK)
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def target_folder(folder: str | Path) -> Path:
    """The folder to save into, as a user names it; in a str, `~` is the home folder, as it is in names to load.

    Raises:
        BadInput: it is no name of a folder; an empty one would mean the working directory.
    """
    if not isinstance(folder, str | Path) or str(folder) == "" or "\0" in str(folder):
        raise BadInput(f"the folder to save into is {folder!r}; wanted its name ('.' is the working directory)")
    return Path(os.path.expanduser(folder) if isinstance(folder, str) else folder)  # noqa: PTH111, Path's raises


@contextmanager
def fill(folder: Path) -> Iterator[Path]:
    """A folder to write into, which becomes `folder` when the block ends, and is removed if the block fails.

    A new folder appears whole, by one renaming. Into one that is there, the files move one by one; if they are a
    model's, all files of the model that was there go (`companions`), and while they move, the folder is marked as one
    that nobody can load (`check_saved`). Other files there stay.

    Raises:
        BadInput: the folder cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; wanted a folder to save into")
    whole = Path(os.path.realpath(folder))
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{whole.name}.", dir=_room_for(whole)))
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        yield partial
        partial.chmod(0o777 & ~UMASK)  # mkdtemp's is for one user
        for path in _files(partial):
            path.chmod(0o666 & ~UMASK)  # as is what safetensors writes
        try:
            _move(partial, whole)
        except OSError as error:
            raise _unwritable(folder, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def check_saved(folder: Path) -> None:
    """Refuses a folder into which a model was being saved when the process was killed: its files may be of two models.

    Raises:
        BadModel: it is one.
    """
    if (folder / SAVING).exists():
        raise BadModel(
            f"{folder} holds files of a model whose saving was cut short, or is going on just now, beside those of the "
            f"model before it ({SAVING} in it marks that). Save the model there again, and it is whole"
        )


def _room_for(folder: Path) -> Path:
    """Where files for the folder are made ready: beside it, or in it where its surroundings are not ours to write to
    or on another disk, as those of a container's volume are.
    """
    beside = not folder.is_dir() or (os.access(folder.parent, os.W_OK) and not folder.is_mount())
    return folder.parent if beside else folder


def _move(partial: Path, folder: Path) -> None:
    if not folder.exists():
        partial.rename(folder)
        return
    new = sorted(path.relative_to(partial) for path in _files(partial))
    if any(name.name in ENTRANCES or WEIGHTS.fullmatch(name.name) for name in new):
        _replace_model(partial, folder, new)
    else:
        _move_files(partial, folder, new)


def _replace_model(partial: Path, folder: Path, new: Sequence[Path]) -> None:
    """The model's files in place of those of the one that is there. From the first step to the last the folder bears
    the mark; who does not know it finds no modules.json nor config.json for as long.
    """
    _check_room(folder, new)
    mark = folder / SAVING
    mark.write_text("a model is being saved into this folder, or was when the process was killed\n", "utf-8")
    entrances = [Path(name) for name in ENTRANCES]
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


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _unwritable(path: Path, error: OSError) -> BadInput:
    return BadInput(f"{path} cannot be written: {error.strerror} ({path.parent})")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


UMASK = _umask()
"""Read once, at import: to read it is to set it, and a file that another thread makes at that instant has no mask."""
