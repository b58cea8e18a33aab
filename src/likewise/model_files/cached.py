"""Model folders that are built once from other files, in the user's cache."""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..runtime.home_folder import expanded
from .saving import atomic_folder

CACHE = "LIKEWISE_CACHE"


def cached_folder(name: str, key: str, write: Callable[[Path], None]) -> Path:
    """Return the cache folder for this name and key; if it does not exist yet, `write` fills it."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    folder = cache_folder() / f"{name}-{digest}"
    if not (folder / "config.json").is_file():
        with suppress(_AlreadyWrittenError), atomic_folder(folder) as partial:
            write(partial)
            if (folder / "config.json").is_file():
                raise _AlreadyWrittenError
    return folder


class _AlreadyWrittenError(Exception):
    """Another thread or process was faster: its folder is kept, since models may have been loaded from it."""


def cache_folder() -> Path:
    """The folder for cached models: the value of `LIKEWISE_CACHE`, or ~/.cache/likewise."""
    set_by_user = os.environ.get(CACHE)
    return expanded(set_by_user) if set_by_user else Path.home() / ".cache" / "likewise"


def file_state_key(path: Path) -> str:
    """A key built from a file's path, size and modification time, without reading the file."""
    state = path.stat()
    return f"{path.resolve()} {state.st_size} {state.st_mtime_ns}"
