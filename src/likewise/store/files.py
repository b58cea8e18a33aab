"""Writing files so that a killed process leaves none half done."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import BadInput

WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors(\.index\.json)?")  # of an encoder: whole, shards, index


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


@contextmanager
def fill(folder: Path) -> Iterator[Path]:
    """A folder to write into, which becomes `folder` when the block ends, and is removed if the block fails.

    A new folder appears whole, by one renaming. Into one that is there, the files move one by one: modules.json last,
    after an encoder's older weights are gone that could be loaded in place of the new; other files there stay. A
    process killed in between leaves a folder that has files of both.

    Raises:
        BadInput: the folder cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; wanted a folder to save into")
    whole = folder.absolute()
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{whole.name}.", dir=whole.parent))
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


def _move(partial: Path, folder: Path) -> None:
    if not folder.exists():
        partial.rename(folder)
        return
    new = {path.relative_to(partial) for path in _files(partial)}
    last = {Path("modules.json")} & new
    for name in sorted(new - last):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).replace(folder / name)
    _remove_stale(folder, new)
    for name in last:
        (partial / name).replace(folder / name)


def _remove_stale(folder: Path, new: set[Path]) -> None:
    """Weights of an encoder that another one's now lie beside."""
    if any(WEIGHTS.fullmatch(str(name)) for name in new):
        for path in folder.iterdir():
            if WEIGHTS.fullmatch(path.name) and Path(path.name) not in new:
                path.unlink()


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
