"""How responses refer to the server's files and folders: by name, never by path."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ..search.records import Value
from ..search.texts.passages import BEFORE_HASH


def public_model(recorded: str) -> str:
    """The name of a model that an index records; if it is a folder, the last part of its path."""
    is_folder = recorded.startswith("~") or Path(recorded).is_absolute()
    return Path(recorded).name if is_folder else recorded


def public_id(name: str, metadata: Mapping[str, Value]) -> str:
    """The id of a passage, with a digest in place of the file's folder; the digest is the same for the whole folder."""
    file = _absolute_file(metadata)
    if file is None or not f"{name}{BEFORE_HASH}".startswith(f"{file}{BEFORE_HASH}"):
        return name
    folder = hashlib.sha256(str(file.parent).encode()).hexdigest()[:8]
    return f"{folder}/{file.name}{name.removeprefix(str(file))}"


def public_metadata(metadata: Mapping[str, Value]) -> dict[str, Value]:
    """The metadata of a passage, with the file's name instead of its path."""
    file = _absolute_file(metadata)
    return {**metadata} if file is None else {**metadata, "file": file.name}


def _absolute_file(metadata: Mapping[str, Value]) -> Path | None:
    file = metadata.get("file")
    return Path(file) if isinstance(file, str) and Path(file).is_absolute() else None
