"""Waiting until what was written is on the disk, so that it survives a loss of power."""

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def sync(handle: int) -> None:
    """Wait until the content of the file is on the disk."""
    whole = getattr(fcntl, "F_FULLFSYNC", None)  # macOS, where fsync alone leaves the content in the disk's cache
    if whole is None:
        os.fsync(handle)
    else:
        fcntl.fcntl(handle, whole)


def sync_file(path: Path) -> None:
    """Wait until the content of a file that is closed is on the disk."""
    with path.open("r+b") as file:
        sync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in the folder are on the disk; Windows has no such call."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
