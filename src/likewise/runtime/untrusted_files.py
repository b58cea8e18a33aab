"""Reading files from untrusted model folders: a file must be regular and of bounded size, or an error names it.

Anything else in its place (a pipe, a device, a folder, a loop of links, a name too long for the file system) raises
`BadModel` before it is opened, so reading never blocks.
"""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import BadModel

MAX_JSON_BYTES = 1 << 24
"""Maximum bytes in a JSON settings file; the largest in use, an index of many shards, is about half this size."""


def regular_file_exists(path: Path, most: int | None = None) -> bool:
    """Whether the file exists; raises BadModel if it is not a regular file or has more than `most` bytes."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError) and not path.is_symlink():
            return False
        raise BadModel(f"{_short(path)} cannot be opened: {_reason(error)}; expected a file") from None
    if not stat.S_ISREG(found.st_mode):
        raise BadModel(f"{path} is {_kind(found.st_mode)}; expected a regular file")
    if most is not None and found.st_size > most:
        raise BadModel(f"{path} has {found.st_size:,} bytes; expected at most {most:,}")
    return True


def read_bytes(path: Path, most: int = MAX_JSON_BYTES) -> bytes | None:
    """The content of the file; None if it does not exist."""
    if not regular_file_exists(path, most):
        return None
    try:
        # non-blocking, in case the file was replaced by a pipe after it was checked
        with os.fdopen(
            os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb"
        ) as file:
            content = file.read(most + 1) or b""
    except OSError as error:
        raise BadModel(f"{path} cannot be read: {_reason(error)}") from None
    if len(content) > most:  # files in /proc, for example, are larger than they report
        raise BadModel(f"{path} has more than {most:,} bytes")
    return content


def read_text(path: Path, most: int = MAX_JSON_BYTES) -> str | None:
    """The UTF-8 text in the file; None if it does not exist."""
    content = read_bytes(path, most)
    try:
        return None if content is None else content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadModel(f"{path} is not UTF-8 text: {error}") from None


def read_json(path: Path, default: Any = None, most: int = MAX_JSON_BYTES) -> Any:
    """The JSON value in the file; `default` if it does not exist."""
    text = read_text(path, most)
    if text is None:
        return default
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadModel(f"{path} is not valid JSON: {error}") from None


def read_object(path: Path, most: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The JSON object in the file; an empty object if the file does not exist."""
    value = read_json(path, {}, most)
    if not isinstance(value, dict):
        raise BadModel(f"{path} contains a {type(value).__name__}; expected a JSON object")
    return value


def require_object(path: Path, why: str) -> dict[str, Any]:
    """The JSON object in the file; if the file does not exist, the error gives `why` as the reason it is needed."""
    if not regular_file_exists(path):
        raise BadModel(f"{path} is missing, and {why}; the download may be incomplete: fetch it again")
    return read_object(path)


def boolean_setting(settings: Mapping[str, Any], key: str, default: bool, path: Path) -> bool:
    """A boolean setting of the file at `path`; `default` if it is missing or null."""
    value = settings.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise bad_setting(path, key, value, "true or false")
    return value


def whole_number_setting(settings: Mapping[str, Any], key: str, most: int, path: Path, least: int = 0) -> int:
    """A setting of the file at `path` that must be a whole number from `least` to `most`."""
    value = settings.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise bad_setting(path, key, value, f"a whole number from {least} to {most:,}")
    return value


def bad_setting(path: Path, key: str, value: object, expected: str) -> BadModel:
    """The error for an invalid setting: it names the file, the key, the value, and what was expected."""
    return BadModel(f"{path} has {key} = {value!r:.200}; expected {expected}")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "it is a broken link"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _short(path: Path) -> str:
    name = str(path)
    return name if len(name) <= 400 else f"{name[:200]}…{name[-100:]}"
