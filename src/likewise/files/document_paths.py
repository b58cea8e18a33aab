"""Find the files to read as documents: single files, whole folders, and patterns such as `notes/**/*.md`."""

import glob
import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput
from ..runtime.home_folder import expanded
from ..wording import counted

NOT_READ = "not a supported format; convert texts to .md, .html, .docx or .pdf"
HIDDEN = "names that begin with a dot are skipped; to add one, name the file or folder itself"
LINKED_FOLDER = "links to folders are not followed; to add one, name the folder itself"
NOT_REGULAR = "not a regular file, or a broken link"
NO_TEXT = "they contain nothing to index"
NO_TEXT_IN_ROW = "it has no text"
NO_TEXT_IN_PDF = "they contain only images of pages, no text; run text recognition (OCR) on them first"


class SkippedFile(NamedTuple):
    """A file or folder that is not read.

    Args:
        kind: the category under which it is counted, such as its suffix; empty if it was named individually.
        reason: why it is skipped, and what to do.
        is_error: True if its format is supported but reading it failed.
        rows: the number of rows skipped if the other rows are read; 0 if the whole file is skipped.
    """

    path: Path
    kind: str
    reason: str
    is_error: bool = False
    rows: int = 0


Skip = Callable[[SkippedFile], None]
"""A callback that receives each skipped file; it raises to stop, or returns to continue with the other files."""


def refuse_errors(file: SkippedFile) -> None:
    """Raise if a file could not be read; otherwise warn, once per kind (Python shows equal warnings only once)."""
    if file.is_error:
        raise BadInput(file.reason)
    warnings.warn(f"{file.kind} is skipped: {file.reason}", stacklevel=2)


def kind_of(path: Path) -> str:
    return path.suffix.lower() or "file without a suffix"


def skipped_lines(skipped: Iterable[SkippedFile]) -> list[str]:
    """One line per reason with the number of files of each kind, one per unreadable file, and one for blank rows.

    >>> skipped_lines([SkippedFile(Path("a.jpg"), ".jpg", "not read"), SkippedFile(Path("b.jpg"), ".jpg", "not read")])
    ['skipped 2 .jpg: not read']
    """
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    rows = 0
    for file in skipped:
        rows += file.rows
        if not file.rows:
            kinds[file.reason][file.kind] += 1
    lines = [f"skipped{_counted(counts)}: {reason}" for reason, counts in kinds.items()]
    return lines + [f"skipped {counted(rows, 'row')} without text"] * (rows > 0)


def skipped_as_json(skipped: Iterable[SkippedFile]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str, bool], list[SkippedFile]] = defaultdict(list)
    for file in skipped:
        groups[file.kind, file.reason, file.is_error].append(file)
    return [
        {
            "kind": kind,
            "count": sum(file.rows or 1 for file in files),
            "reason": reason,
            "failed": failed,
            "files": [str(file.path) for file in files],
        }
        for (kind, reason, failed), files in groups.items()
    ]


def _counted(counts: Counter[str]) -> str:
    return "" if "" in counts else " " + ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common())


PATTERN = frozenset("*?[")


def document_paths(
    names: Iterable[str],
    known: Iterable[str],
    why_not: Callable[[str], str] = lambda ending: "not a supported format",  # noqa: ARG005
    skip: Skip = refuse_errors,
) -> list[Path]:
    """The files these names stand for, without repeats, in the order given, and sorted within folders and patterns."""
    if isinstance(names, str):
        raise BadInput(f"expected a list of files and folders; got one str, {names!r}")
    endings = tuple(known)
    found: dict[str, Path] = {}
    for path in (path for name in names for path in _behind(name, endings, why_not, skip)):
        found.setdefault(os.path.abspath(path), path)  # noqa: PTH100, which does not follow links
    return [*found.values()]


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
        raise BadInput(f"{path} {'is neither a file nor a folder' if path.exists() else 'does not exist'}")
    readable = [file for file in files if _is_readable(file, endings, why_not, passed)]
    if not readable:
        why = "".join(f"\n  {line}" for line in skipped_lines(passed)) or ": no files were found"
        raise BadInput(f"{name} contains no readable file{why}\nReadable files end in {', '.join(endings)}")
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
    """All files below a folder, in a fixed order, without following links to folders."""

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
