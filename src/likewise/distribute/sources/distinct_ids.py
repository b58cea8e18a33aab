"""Check that ids are distinct, however many there are: digests are split among files, which are checked one by one."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...errors import BadInput

BUFFER_BYTES = 1 << 14
"""Bytes of each part that are held in memory before they are written to its file."""
DIGEST = np.dtype([("digest", "S16"), ("source", "<u4"), ("line", "<u8")])


class DistinctIds:
    """The digests and locations of ids, in 256 files in an existing folder; equal ids land in the same file."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._written = folder, set[int]()
        self._buffers = defaultdict[int, bytearray](bytearray)

    def add(self, name: str, source: int, line: int) -> None:
        digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
        part = digest[0]
        self._buffers[part] += digest + source.to_bytes(4, "little") + line.to_bytes(8, "little")
        if len(self._buffers[part]) >= BUFFER_BYTES:
            self._write(part)

    def check(self, sources: Sequence[str]) -> None:
        """Raise an error if an id occurs twice."""
        for part, buffer in self._buffers.items():
            rows = np.frombuffer(bytes(buffer), DIGEST)
            if part in self._written:
                rows = np.concatenate([np.fromfile(self._path(part), DIGEST), rows])
                self._path(part).unlink()
            _check_part(rows, sources)

    def _write(self, part: int) -> None:
        with self._path(part).open("ab") as file:
            file.write(self._buffers[part])
        self._buffers[part].clear()
        self._written.add(part)

    def _path(self, part: int) -> Path:
        return self._folder / f"{part:03}.ids"


def _check_part(rows: np.ndarray, sources: Sequence[str]) -> None:
    order = np.argsort(rows["digest"], kind="stable")
    same = np.flatnonzero(rows["digest"][order][1:] == rows["digest"][order][:-1])
    if len(same):
        pair = rows[order[[same[0], same[0] + 1]]]
        first, second = (f"{sources[row['source']]}:{row['line']}" for row in pair)
        raise BadInput(
            f"rows {first} and {second} have the same id; expected distinct ids (choose another column with "
            "--id, or omit --id to number the rows)"
        )
