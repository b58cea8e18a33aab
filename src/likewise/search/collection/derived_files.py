"""Derived files: a checksummed cache of arrays computed from the collection, which can be deleted at any time.

A file is written under a temporary name and renamed; it is not synced, since a file that is missing, truncated or out
of date is recomputed. Each file consists of a prefix, a JSON description padded with spaces, and the arrays. The prefix
contains the length and checksum of the description, and the description contains those of the arrays, so any changed
bit is detected.
"""

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import Any, BinaryIO

import numpy as np

from ...errors import BadInput
from ...runtime.atomic_files import atomic_file

FOLDER = "derived"
MAGIC = b"derived2"
PREFIX = Struct("<8sQQ")  # the magic bytes, and the length and checksum of the description
HEADER_BYTES = 4096
LARGE_HEADER = 1 << 24  # bytes; each column takes about 100
ALIGNMENT = 64


def derived_path(folder: Path, number: int, what: str) -> Path:
    return folder / FOLDER / f"{number:08}.{what}"


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Store the arrays if possible; a full or read-only disk is not an error."""
    places: list[tuple[str, str, tuple[int, ...], int]] = []
    content = bytearray()
    for name, array in arrays.items():
        places.append((name, array.dtype.str, array.shape, len(content)))
        content += np.ascontiguousarray(array).tobytes()
        content += bytes(-len(content) % ALIGNMENT)
    description = {"name": path.name, "arrays": places, "bytes": len(content), "checksum": zlib.crc32(content)}
    described = json.dumps(description).encode()
    described += b" " * (-(PREFIX.size + len(described)) % HEADER_BYTES)
    with suppress(BadInput, OSError), atomic_file(path) as partial, partial.open("wb") as file:
        file.write(PREFIX.pack(MAGIC, len(described), zlib.crc32(described)))
        file.write(described)
        file.write(content)


def map_arrays(path: Path) -> dict[str, np.ndarray] | None:
    """The memory-mapped arrays, after the whole file has been verified; None if it is missing, outdated or damaged."""
    header = _checked_header(path)
    if header is None:
        return None
    start, described = header
    content = np.memmap(path, np.uint8, "r", start, (described["bytes"],)) if described["bytes"] else np.empty(0, "u1")
    arrays = {}
    for name, dtype, shape, place in described["arrays"]:
        count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        arrays[name] = content[place : place + count].view(dtype).reshape(shape)
    return arrays


def remove_derived(folder: Path, number: int) -> None:
    """Remove the files derived from a segment."""
    for path in (folder / FOLDER).glob(f"{number:08}.*"):
        with suppress(OSError):
            path.unlink()


def _checked_header(path: Path) -> tuple[int, dict[str, Any]] | None:
    """The offset of the content and the description; None unless every byte of the file is intact."""
    with suppress(OSError, StructError), path.open("rb") as file:
        magic, length, checksum = PREFIX.unpack(file.read(PREFIX.size))
        text = file.read(length) if magic == MAGIC and length < LARGE_HEADER else b""
        if not text or zlib.crc32(text) != checksum:
            return None
        described = json.loads(text)
        whole = os.fstat(file.fileno()).st_size == PREFIX.size + length + described["bytes"]
        if whole and described["name"] == path.name and _checksum(file) == described["checksum"]:
            return PREFIX.size + length, described
    return None


def _checksum(file: BinaryIO) -> int:
    checksum = 0
    while block := file.read(1 << 20):
        checksum = zlib.crc32(block, checksum)
    return checksum
