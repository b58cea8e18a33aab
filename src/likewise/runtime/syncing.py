"""Flushing written data to disk, so that it survives a power failure."""

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def sync(handle: int) -> None:
    """Wait until the file's content is on disk."""
    whole = getattr(fcntl, "F_FULLFSYNC", None)  # macOS, where fsync alone leaves the content in the disk's cache
    if whole is None:
        os.fsync(handle)
    else:
        fcntl.fcntl(handle, whole)


def sync_file(path: Path) -> None:
    """Wait until the content of a closed file is on disk."""
    with path.open("r+b") as file:
        sync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in the folder are on disk; Windows has no such call."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
