"""Derived files: arrays computed from the truth, kept beside it to save time, with a checksum, and never relied on.

A file is written whole under another name, synced and renamed. One that is missing, or does not fit, is computed again.
"""

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import BadInput
from ....runtime.atomic_files import atomic_file
from ....runtime.durability.syncing import sync

FOLDER = "derived"
HEADER_BYTES = 4096
LARGE_HEADER = 1 << 24  # bytes: a column has some 100 in it
ALIGNMENT = 64


def derived_path(folder: Path, number: int, what: str) -> Path:
    """The file of what was derived from a segment of the collection in `folder`."""
    return folder / FOLDER / f"{number:08}.{what}"


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> bool:
    """Keep the arrays, if they can be kept: a disk that is full or may not be written is no error."""
    places: list[tuple[str, str, tuple[int, ...], int]] = []
    content = bytearray()
    for name, array in arrays.items():
        places.append((name, array.dtype.str, array.shape, len(content)))
        content += np.ascontiguousarray(array).tobytes()
        content += bytes(-len(content) % ALIGNMENT)
    header = json.dumps({"arrays": places, "bytes": len(content), "checksum": zlib.crc32(content)}).encode()
    header = len(header).to_bytes(8, "little") + header
    with suppress(BadInput, OSError), atomic_file(path) as partial:
        with partial.open("wb") as file:
            file.write(header.ljust(-(-len(header) // HEADER_BYTES) * HEADER_BYTES, b"\0"))
            file.write(content)
            file.flush()
            sync(file.fileno())
        return True
    return False


def map_arrays(path: Path) -> dict[str, np.ndarray] | None:
    """The arrays, mapped into memory; None where there is no such file, or only a part of one."""
    header = _header(path)
    if header is None:
        return None
    start, described = header
    content = np.memmap(path, np.uint8, "r", start, (described["bytes"],)) if described["bytes"] else np.empty(0, "u1")
    arrays = {}
    for name, dtype, shape, place in described["arrays"]:
        count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        arrays[name] = content[place : place + count].view(dtype).reshape(shape)
    return arrays


def is_intact(path: Path) -> bool:
    """Whether the checksum of a derived file is right; reads all of it."""
    header = _header(path)
    if header is None:
        return False
    with path.open("rb") as file:
        file.seek(header[0])
        checksum = 0
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return bool(checksum == header[1]["checksum"])


def remove_derived(folder: Path, number: int | None = None) -> None:
    """Remove what was derived from a segment, or from any."""
    pattern = "*" if number is None else f"{number:08}.*"
    for path in (folder / FOLDER).glob(pattern):
        with suppress(OSError):
            path.unlink()


def _header(path: Path) -> tuple[int, dict[str, Any]] | None:
    """Where the content begins, and the description in front of it; None if they do not fit the file."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > LARGE_HEADER:
                return None
            described = json.loads(file.read(length))
            start = -(-(8 + length) // HEADER_BYTES) * HEADER_BYTES
            whole = os.fstat(file.fileno()).st_size == start + described["bytes"]
        return (start, described) if whole else None
    except (OSError, ValueError, TypeError, KeyError):
        return None
