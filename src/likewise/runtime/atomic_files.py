"""Writing files so that a killed process leaves none half done."""

import errno
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..errors import BadInput

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, the user's share of it, the process's limit


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A path to write to; it becomes `path` when the block ends, and is removed if the block fails.

    Where `path` is a link, what it leads to is written, and the link stays.

    Raises:
        BadInput: the file cannot be written to, the disk being full say.
    """
    from .temporary_files import temporary_folder  # here, for checks alone need no temporary files

    target = followed(path)
    _check_replaceable(path)
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder(target))
            partial = folder / target.name
            partial.touch()
        except OSError as error:
            raise unwritable(path, error) from None
        with naming_full_disk(path):
            yield partial
            apply_umask(partial, folder)
            partial.replace(target)


@contextmanager
def naming_full_disk(path: Path) -> Iterator[None]:
    """The error of a full disk with the name of what did not fit; safetensors' has its number in its text alone."""
    try:
        yield
    except Exception as error:
        told = re.search(r"os error (\d+)", str(error))
        number = error.errno if isinstance(error, OSError) else int(told[1]) if told else None
        if number not in FULL:
            raise
        raise unwritable(path, OSError(number, os.strerror(number))) from None


def followed(path: Path) -> Path:
    """Where the bytes go: to what a link leads to, whether that exists or not."""
    try:
        target = Path(os.path.realpath(path))
        loops = target.is_symlink()
    except (OSError, ValueError) as error:  # a name too long, or of halves of a letter
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{str(path)!r:.200} cannot be written: {why}") from None
    if loops:
        raise BadInput(f"{path} is a link that leads back to itself")
    return target


def check_writable_file(path: Path) -> None:
    """Refuse a file that could not be written, before the work whose result it is to hold; nothing is left there.

    Raises:
        BadInput: says why.
    """
    followed(path)
    _check_replaceable(path)
    _check_place(path, followed(path).parent)


def check_writable_folder(folder: Path) -> None:
    """Refuse a folder that could not be written into, before the work whose results go there; it is not created.

    Raises:
        BadInput: says why.
    """
    place = followed(folder)
    check_is_folder(folder)
    _check_place(folder, place)


def check_not_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write a file or folder that is also read, under whatever name, a link's among them.

    Raises:
        BadInput: it is one of the inputs.
    """
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise BadInput(
                f"the output {output} is the input {path}, which would be lost; give the output another name"
            )


def _check_place(path: Path, folder: Path) -> None:
    """Try a file that has no name, in the folder or, where that is still to be created, in what would hold it."""
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
    """As readable as any new file, safetensors' too, which are for one user: the folder shows what the umask leaves."""
    path.chmod(folder.stat().st_mode & 0o666)


def target_folder(folder: str | Path) -> Path:
    """The folder to save into, as a user names it; in a str, `~` is the home folder, as it is in names to load.

    Raises:
        BadInput: it is no name of a folder; an empty one would mean the working directory.
    """
    if not isinstance(folder, str | Path) or str(folder) == "" or "\0" in str(folder):
        raise BadInput(f"the folder to save into is {folder!r}; expected its name ('.' is the working directory)")
    return Path(os.path.expanduser(folder) if isinstance(folder, str) else folder)  # noqa: PTH111, Path's raises


def unwritable(path: Path, error: OSError) -> BadInput:
    return BadInput(f"{path} cannot be written: {error.strerror} ({path.parent})")
