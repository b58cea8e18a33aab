"""Attempts and their possible outcomes."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

GOOD = ("answered", "refused")
"""A result that the attempt accepts; an error of `likewise.errors` (for a command, exit code 1 or 2, no traceback)."""

FAILURES = {
    "traceback": "an exception that is not one of likewise.errors, or a traceback on a terminal",
    "hang": "the attempt did not finish within the time limit",
    "memory": "the attempt used more memory than a small folder or file may take",
    "crash": "the process was ended by a signal that the attempt did not send",
    "partial file": "an unfinished file under a final name",
    "neither model": "a folder that loads as neither the old nor the new model, without an error",
    "leftover": "a temporary file or folder that was not removed",
    "lost rows": "fewer rows out than in, or an input file that was changed",
    "wrong answer": "a wrong result, or a result instead of an error",
}
"""The outcomes that make the attack fail."""

OUTCOMES = (*GOOD, *FAILURES)


class Failed(Exception):
    """Raised by an attempt that ends in one of FAILURES."""

    def __init__(self, outcome: str, detail: str) -> None:
        if outcome not in FAILURES:
            raise ValueError(f"{outcome!r} is not a failure; expected one of {', '.join(FAILURES)}")
        super().__init__(outcome, detail)
        self.outcome, self.detail = outcome, detail


@dataclass(frozen=True)
class Setup:
    """What all attempts of a run share: the seed, and the read-only models created before the first attempt."""

    models: Path
    seed: int = 0
    quick: bool = False


@dataclass(frozen=True)
class Attempt:
    """One attempt. `work` runs in a new process, whose current folder is empty.

    `work` returns one of GOOD (None means answered), or raises `Failed` or the library's exception. Files that it
    leaves and that match none of `outputs` (path patterns) count as leftovers.
    """

    name: str
    work: Callable[[], str | None]
    outputs: tuple[str, ...] = ()
    keeps_rights: bool = False
    """Whether to keep root privileges, which are needed to start processes of other users."""

    @property
    def kind(self) -> str:
        """The first part of the name."""
        return self.name.partition("/")[0]


@dataclass(frozen=True)
class Result:
    """How an attempt ended."""

    name: str
    outcome: str
    detail: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0

    @property
    def failed(self) -> bool:
        return self.outcome in FAILURES


def listing(folder: Path) -> dict[str, str]:
    """Return every path below a folder, with the digest of each regular file; links are not followed."""
    results = {}
    for path in _below(folder):
        regular = path.is_file() and not path.is_symlink() and os.access(path, os.R_OK)
        results[str(path.relative_to(folder))] = digest(path) if regular else "no file"
    return results


def _below(folder: Path) -> Iterator[Path]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        yield Path(entry.path)
        if entry.is_dir(follow_symlinks=False) and os.access(entry.path, os.R_OK | os.X_OK):
            yield from _below(Path(entry.path))


def digest(path: Path) -> str:
    """Return the digest of a regular file's bytes, or of the size and first megabyte of a large file."""
    with path.open("rb") as file:
        head = file.read(1 << 20)
    return f"{path.stat().st_size} {hashlib.sha256(head).hexdigest()[:24]}"


def leftovers(before: dict[str, str], after: dict[str, str], outputs: tuple[str, ...]) -> list[str]:
    """Return new paths that match no pattern; hidden files and everything in tmp/ are always leftovers."""
    new = [path for path in after if path not in before]
    return [path for path in new if _temporary(path) or not any(fnmatch(path, expected) for expected in outputs)]


def _temporary(path: str) -> bool:
    parts = path.split("/")
    return (parts[0] == "tmp" and len(parts) > 1) or any(part.startswith(".") for part in parts)


def changed(before: dict[str, str], after: dict[str, str], outputs: tuple[str, ...]) -> list[str]:
    """Return paths that existed before, are not outputs, and are now missing or have different contents."""
    kept = [path for path in before if not any(fnmatch(path, expected) for expected in outputs)]
    return [path for path in kept if after.get(path) != before[path]]


def expect(condition: Any, outcome: str, detail: str) -> None:
    """Fail the attempt unless the condition holds."""
    if not condition:
        raise Failed(outcome, detail)
