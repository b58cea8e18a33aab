"""References to the server's files and folders in responses: by name, never by path."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ..search.records import Value
from ..search.texts.passages import BEFORE_HASH


def public_model(recorded: str) -> str:
    """Return the public name of the model that an index records; for a folder, the last part of its path."""
    is_folder = recorded.startswith("~") or Path(recorded).is_absolute()
    return Path(recorded).name if is_folder else recorded


def public_id(name: str, metadata: Mapping[str, Value]) -> str:
    """Return a passage's id with a hash in place of its file's folder; all files of a folder share the hash."""
    file = _absolute_file(metadata)
    if file is None or not f"{name}{BEFORE_HASH}".startswith(f"{file}{BEFORE_HASH}"):
        return name
    folder = hashlib.sha256(str(file.parent).encode()).hexdigest()[:8]
    return f"{folder}/{file.name}{name.removeprefix(str(file))}"


def public_metadata(metadata: Mapping[str, Value]) -> dict[str, Value]:
    """Return a passage's metadata with the name of its file in place of the path."""
    file = _absolute_file(metadata)
    return {**metadata} if file is None else {**metadata, "file": file.name}


def _absolute_file(metadata: Mapping[str, Value]) -> Path | None:
    file = metadata.get("file")
    return Path(file) if isinstance(file, str) and Path(file).is_absolute() else None
