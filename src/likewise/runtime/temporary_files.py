"""Temporary folders next to their targets: locked while their process runs, removed by a later run once it has ended.

A name has the form `.TARGET.likewise-HOST-BOOT-RANDOM`. On the same boot of the same machine, even in a container, the
lock shows whether the process is still running: the kernel releases it however the process ends. After a reboot, no
earlier process is running. Folders left on a shared disk by another machine are kept, since nothing is known about
their processes.
"""

import hashlib
import os
import platform
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: there is no way to know whether a process is running, so nothing is removed
    fcntl = None  # type: ignore[assignment]

MAX_NAME_BYTES = 200  # bytes of the target's name that the temporary name includes
DIGITS = 8  # per part, for the three parts after the name


@contextmanager
def temporary_folder(target: Path, parent: Path | None = None) -> Iterator[Path]:
    """A hidden folder in `parent` (default: next to `target`), removed when the block ends unless it was renamed."""
    parent = target.parent if parent is None else parent
    parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parent, re.escape(_label(target.name)))
    folder, lock = _create(parent, target.name)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_abandoned(parent: Path, names: str) -> None:
    """Remove temporary folders left by ended processes if the target's name matches the regular expression `names`."""
    if fcntl is None or not parent.is_dir():
        return
    digits = rf"\w{{{DIGITS}}}"
    ours = re.compile(rf"(?s)\.(?:{names})\.likewise-(?P<host>{digits})-(?P<boot>{digits})-{digits}")
    with suppress(OSError), os.scandir(parent) as entries:
        found = [(Path(entry.path), ours.fullmatch(entry.name)) for entry in entries]
        for path, match in found:
            if match is not None and match["host"] == _host():
                _remove_if_dead(path, same_boot=match["boot"] == _boot())


def _remove_if_dead(path: Path, *, same_boot: bool) -> None:
    with suppress(OSError):  # the folder is in use, is not a folder, or belongs to another user
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if same_boot:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(handle)


def _create(parent: Path, name: str) -> tuple[Path, int | None]:
    """Create a folder and lock it; the lock is None if the file system does not support locks."""
    while True:
        mark = f"likewise-{_host()}-{_boot()}-{secrets.token_hex(DIGITS // 2)}"
        folder = parent / f".{_label(name)}.{mark}"
        folder.mkdir()
        lock = _locked(folder)
        if folder.is_dir():  # another process may have removed the folder before it was locked
            return folder, lock
        if lock is not None:
            os.close(lock)


def _locked(folder: Path) -> int | None:
    if fcntl is None:
        return None
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:
        os.close(handle)
        return None
    return handle


def _label(name: str) -> str:
    whole = os.fsencode(name)
    return name if len(whole) <= MAX_NAME_BYTES else hashlib.sha256(whole).hexdigest()


def _host() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:DIGITS]


def _boot() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text()[:DIGITS]
    return "0" * DIGITS
