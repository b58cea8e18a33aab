"""Files that are not read, why, and what to do about it: one at a time as they are met, and summed up by kind."""

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput

NOT_READ = "not a format that is read; convert texts to .md, .html, .docx or .pdf"
HIDDEN = "names that begin with a full stop are left out; name the file or folder itself to add it"
LINKED_FOLDER = "links to folders are not followed; name the folder itself to add it"
NOT_REGULAR = "not a regular file, or a link that leads nowhere"
NO_TEXT = "nothing in them to index"
NO_TEXT_IN_PDF = "no text in them, only pictures of pages; have the text recognized (OCR) first"


class SkippedFile(NamedTuple):
    """A file, or a folder, that is not read.

    Args:
        path: which one.
        kind: what it is counted as: its ending, or what else it is; empty if it is named by itself.
        reason: why, and what to do.
        is_error: whether it is of a kind that is read, and reading it failed.
    """

    path: Path
    kind: str
    reason: str
    is_error: bool = False


Skip = Callable[[SkippedFile], None]
"""Receives each file that is not read; it returns, and the rest is read, or it raises."""


def refuse_errors(file: SkippedFile) -> None:
    """Warn of a file that is not read: once for each kind, as Python shows equal warnings."""
    if file.is_error:
        raise BadInput(file.reason)
    warnings.warn(f"{file.kind} is skipped: {file.reason}", stacklevel=2)


def kind_of(path: Path) -> str:
    """What a file is counted as."""
    return path.suffix.lower() or "file without an ending"


def skipped_lines(skipped: Iterable[SkippedFile]) -> list[str]:
    """A line for each reason, with how many of which kinds; a line for each file that could not be read.

    >>> skipped_lines([SkippedFile(Path("a.jpg"), ".jpg", "not read"), SkippedFile(Path("b.jpg"), ".jpg", "not read")])
    ['skipped 2 .jpg: not read']
    """
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for file in skipped:
        kinds[file.reason][file.kind] += 1
    return [f"skipped{_counted(counts)}: {reason}" for reason, counts in kinds.items()]


def skipped_as_json(skipped: Iterable[SkippedFile]) -> list[dict[str, Any]]:
    """The same as plain values, with the files."""
    groups: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
    for file in skipped:
        groups[file[1:]].append(str(file.path))
    return [
        {"kind": kind, "count": len(files), "reason": reason, "failed": failed, "files": files}
        for (kind, reason, failed), files in groups.items()
    ]


def _counted(counts: Counter[str]) -> str:
    return "" if "" in counts else " " + ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common())
