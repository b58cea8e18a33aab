"""Reading .zst files: with Python's own compression.zstd (3.14 on), else with the package zstandard."""

import io
from pathlib import Path
from typing import Any

from ..runtime.installation import missing_extra

READ_BYTES = 1 << 14  # of the compressed file at a time


class ZstandardDamaged(EOFError):
    """A .zst file is damaged."""


ZSTANDARD_ERRORS = (ZstandardDamaged,)


def open_zstandard(path: Path) -> io.BufferedReader:
    """The decompressed content as a stream of bytes; it cannot seek."""
    return io.BufferedReader(_Decompressed(path), READ_BYTES)


class _Decompressed(io.RawIOBase):
    """All frames of a file, one after another; a file that ends within a frame is an error, not an end."""

    def __init__(self, path: Path) -> None:
        self._new, self._error = _decompressor(path)
        self._frame = self._new()
        self._file = path.open("rb")
        self._ready = memoryview(b"")
        self._is_within = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._file.read(READ_BYTES)
            if not data and self._is_within:
                raise EOFError("the file ends within a compressed frame")
            if not data:
                return 0
            self._ready = memoryview(self._decompress(data))
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()

    def _decompress(self, data: bytes) -> bytes:
        content = []
        while data:
            try:
                content.append(self._frame.decompress(data))
            except self._error as error:
                raise ZstandardDamaged(str(error)) from None
            self._is_within, data = not self._frame.eof, self._frame.unused_data
            if not self._is_within:
                self._frame = self._new()
        return b"".join(content)


def _decompressor(path: Path) -> tuple[Any, type[Exception]]:
    """What makes a decompressor of one frame, and the error that it raises."""
    try:
        from compression.zstd import ZstdDecompressor, ZstdError
    except ImportError:
        pass
    else:
        return ZstdDecompressor, ZstdError
    try:
        import zstandard
    except ImportError:
        raise missing_extra("zstandard", "zstd", f"reading {path.name}") from None
    return lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError
