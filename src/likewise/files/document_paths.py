"""Which files are read as documents: files, folders with all that is in them, and patterns such as `notes/**/*.md`."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..errors import BadInput
from ..runtime.home_folder import expanded
from .skipped_files import (
    HIDDEN,
    LINKED_FOLDER,
    NOT_REGULAR,
    Skip,
    SkippedFile,
    kind_of,
    refuse_errors,
    skipped_lines,
)

PATTERN = frozenset("*?[")


def document_paths(
    names: Iterable[str],
    known: Iterable[str],
    why_not: Callable[[str], str] = lambda ending: "not a format that is read here",  # noqa: ARG005
    skip: Skip = refuse_errors,
) -> list[Path]:
    """The files behind these names, each once, in the order of the names and sorted within a folder or pattern."""
    endings = tuple(known)
    found = dict.fromkeys(path for name in names for path in _behind(name, endings, why_not, skip))
    return list(found)


def _behind(name: str, endings: tuple[str, ...], why_not: Callable[[str], str], skip: Skip) -> list[Path]:
    path, passed = expanded(name), list[SkippedFile]()
    if path.is_file():
        if not path.name.lower().endswith(endings):
            why = f"{why_not(path.suffix.lower())}; expected one of {', '.join(endings)}"
            raise BadInput(f"{path} ends in {path.suffix!r}, {why}")
        return [path]
    if path.is_dir():
        files = list(_inside(path, passed))
    elif PATTERN & {*name}:
        matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207, which takes absolute patterns too
        files = [Path(match) for match in matches if not Path(match).is_dir()]
    else:
        raise BadInput(f"{path} is {'no file and no folder' if path.exists() else 'not there'}")
    readable = [file for file in files if _is_readable(file, endings, why_not, passed)]
    if not readable:
        why = "".join(f"\n  {line}" for line in skipped_lines(passed)) or ": there is none"
        raise BadInput(f"{name} has no file that can be read{why}\nFiles that are read end in {', '.join(endings)}")
    for file in passed:
        skip(file)
    return readable


def _is_readable(
    file: Path, endings: tuple[str, ...], why_not: Callable[[str], str], passed: list[SkippedFile]
) -> bool:
    if not file.name.lower().endswith(endings):
        passed.append(SkippedFile(file, kind_of(file), why_not(file.suffix.lower())))
    elif not file.is_file():
        passed.append(SkippedFile(file, kind_of(file), NOT_REGULAR))
    else:
        return True
    return False


def _inside(folder: Path, passed: list[SkippedFile]) -> Iterator[Path]:
    """All files below a folder in a fixed order, without following links to folders."""

    def unreadable(error: OSError) -> None:
        passed.append(
            SkippedFile(Path(error.filename), "", f"{error.filename} cannot be opened: {error.strerror}", True)
        )

    for place, folders, files in os.walk(folder, onerror=unreadable):
        hidden = sorted(name for name in (*folders, *files) if name.startswith("."))
        passed += [SkippedFile(Path(place, name), "hidden", HIDDEN) for name in hidden]
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [Path(place, name) for name in folders if Path(place, name).is_symlink()]
        passed += [SkippedFile(link, "link to a folder", LINKED_FOLDER) for link in links]
        yield from (Path(place, name) for name in sorted(files) if not name.startswith("."))
