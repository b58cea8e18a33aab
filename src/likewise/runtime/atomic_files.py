"""Atomic file writes: a killed process leaves no incomplete file behind."""

import errno
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..errors import BadInput
from .home_folder import expanded
from .syncing import sync_file, sync_folder
from .temporary_files import temporary_folder

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk full, user quota exceeded, process file size limit exceeded


@contextmanager
def atomic_file(
    path: Path, *, durable: bool = False, private: bool = False, parent: Path | None = None
) -> Iterator[Path]:
    """Yield a path to write to; the file is moved to `path` when the block ends, and removed if the block fails.

    If `path` is a symbolic link, its target is written and the link is kept. If `durable`, the file survives a power
    failure once the block has ended. A `private` file is readable only by its owner; any other file keeps the
    permissions of the file that it replaces. The file is written in a temporary folder in `parent`, by default next to
    `path`.
    """
    target = followed(path)
    _check_replaceable(path)
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder(target, parent))
            partial = folder / target.name
            partial.touch()
        except OSError as error:
            raise unwritable(path, error) from None
        with naming_full_disk(path):
            yield partial
            if private:
                partial.chmod(0o600)
            else:
                apply_umask(partial, folder)
                with suppress(FileNotFoundError):  # a new file, or one that another process has just removed
                    partial.chmod(target.stat().st_mode & 0o777)
            if durable:
                sync_file(partial)
            partial.replace(target)
            if durable:
                sync_folder(target.parent)


@contextmanager
def naming_full_disk(path: Path) -> Iterator[None]:
    """Report a full disk as a BadInput that names the path; safetensors gives the error number only in its message."""
    try:
        yield
    except Exception as error:
        match = re.search(r"os error (\d+)", str(error))
        number = error.errno if isinstance(error, OSError) else int(match[1]) if match else None
        if number not in FULL:
            raise
        raise unwritable(path, OSError(number, os.strerror(number))) from None


def followed(path: Path) -> Path:
    """The path that would actually be written: a symbolic link's target, whether or not it exists."""
    try:
        target = Path(os.path.realpath(path))
        loops = target.is_symlink()
    except (OSError, ValueError) as error:  # a name that is too long or contains half of a surrogate pair
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{str(path)!r:.200} cannot be written: {why}") from None
    if loops:
        raise BadInput(f"{path} is a symbolic link that leads back to itself")
    return target


def check_new_file(path: Path, endings: Iterable[str], inputs: Iterable[Path] = ()) -> None:
    """Before work starts, reject an output file that is unwritable, has an unknown suffix, or is one of the inputs."""
    _check_named(path)
    if path.suffix.lower() not in endings:
        raise BadInput(f"{path} ends in {path.suffix!r}; expected an output file that ends in {', '.join(endings)}")
    check_not_input(path, inputs)
    check_writable_file(path)


def _check_named(path: Path) -> None:
    if str(path) == "-":
        raise BadInput(
            "the output is -, but results are not written to standard output; expected the name of a file or folder "
            "(use ./- for a file actually named -)"
        )


def check_writable_file(path: Path) -> None:
    """Check before a long computation that its output file can be written; the check leaves nothing behind."""
    _check_named(path)
    target = followed(path)
    _check_replaceable(path)
    _check_place(path, target.parent)


def check_writable_folder(folder: Path) -> None:
    """Check before a long computation that its output folder can be written to; the folder is not created."""
    _check_named(folder)
    place = followed(folder)
    check_is_folder(folder)
    _check_place(folder, place)


def check_not_input(output: Path, inputs: Iterable[Path]) -> None:
    """Check that an output file is not also an input, even under another name, such as through a link."""
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise BadInput(f"the output {output} would overwrite the input {path}; choose another name")


def _check_place(path: Path, folder: Path) -> None:
    """Try to create an unnamed file in the folder or, if it does not exist yet, in its nearest existing parent."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror} ({folder})") from None


def _check_replaceable(path: Path) -> None:
    if path.is_dir():
        raise BadInput(f"{path} is a folder; expected the name of a file")
    if path.exists() and not path.is_file():
        raise BadInput(f"{path} is a device or a pipe; expected a regular file")


def check_is_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; expected a folder to save into")


def apply_umask(path: Path, folder: Path) -> None:
    """Give a file a new file's usual permissions, based on its folder's; safetensors writes for the owner only."""
    path.chmod(folder.stat().st_mode & 0o666)


def target_folder(folder: str | Path) -> Path:
    """The folder to save into, as given by the user; in a str, `~` stands for the home folder."""
    if not isinstance(folder, str | Path) or str(folder) == "" or "\0" in str(folder):
        raise BadInput(f"the folder to save into is {folder!r}; expected its name ('.' is the working directory)")
    return expanded(folder) if isinstance(folder, str) else folder


def unwritable(path: Path, error: OSError) -> BadInput:
    return BadInput(f"{path} cannot be written: {error.strerror} ({path.parent})")
