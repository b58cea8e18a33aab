"""Reading JSON with errors that help, and writing files so that a killed process leaves none half done."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import BadInput, BadModel


def read_json(path: Path, default: Any = None) -> Any:
    """What the file holds; `default` if it is not there."""
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return default
    except (ValueError, RecursionError, IsADirectoryError) as error:
        raise BadModel(f"{path} is no JSON: {error}") from None


def read_object(path: Path) -> dict[str, Any]:
    """The object that the file holds; an empty one if it is not there."""
    value = read_json(path, {})
    if not isinstance(value, dict):
        raise BadModel(f"{path} holds a {type(value).__name__}; wanted an object")
    return value


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A path to write to; it becomes `path` when the block ends, and is removed if the block fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror} ({path.parent})") from None
    os.close(handle)
    partial = Path(name)
    partial.chmod(0o666 & ~_umask())
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def fill(folder: Path) -> Iterator[Path]:
    """A folder to write into; its files move into `folder` when the block ends, and other files there stay."""
    if folder.exists() and not folder.is_dir():
        raise BadModel(f"{folder} is a file; wanted a folder to save into")
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield partial
        for path in sorted(p for p in partial.rglob("*") if p.is_file()):
            target = folder / path.relative_to(partial)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
