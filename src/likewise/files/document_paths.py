"""Which files are read as documents: files, folders with all that is in them, and patterns such as `notes/**/*.md`."""

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import BadInput

PATTERN = frozenset("*?[")


def document_paths(names: Iterable[str], known: Iterable[str]) -> list[Path]:
    """The files behind these names, each once, in the order of the names and sorted within a folder or pattern.

    Args:
        names: files, folders or patterns; `~` is the home folder.
        known: the endings of files that can be read. In folders and patterns others are passed over, and so is what
            begins with a full stop.

    Raises:
        BadInput: a file is missing or of another kind; a folder or a pattern has no file of a known kind.
    """
    endings = tuple(known)
    found = dict.fromkeys(path for name in names for path in _behind(name, endings))
    return list(found)


def _behind(name: str, endings: tuple[str, ...]) -> list[Path]:
    path = Path(name).expanduser()
    if path.is_file():
        if not path.name.lower().endswith(endings):
            raise BadInput(f"{path} ends in {path.suffix!r}; expected one of {', '.join(endings)}")
        return [path]
    if path.is_dir():
        files = list(_inside(path))
    elif PATTERN & {*name}:
        matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207, which takes absolute patterns too
        files = [Path(match) for match in matches if Path(match).is_file()]
    else:
        raise BadInput(f"{path} is {'no file and no folder' if path.exists() else 'not there'}")
    readable = [file for file in files if file.name.lower().endswith(endings)]
    if not readable:
        raise BadInput(f"{name} has no file that ends in {', '.join(endings)} ({len(files):,} of other kinds)")
    return readable


def _inside(folder: Path) -> Iterator[Path]:
    """All files below a folder in a fixed order, without following links to folders."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(files) if not name.startswith("."))
