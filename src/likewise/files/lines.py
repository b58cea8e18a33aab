"""The lines of a file as texts, starting at any offset; decompressed if the file name ends in .gz or .zst."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput
from ..runtime.installation import missing_extra

READ_BYTES = 1 << 14  # read from the compressed file at a time


class _Decompressed(io.RawIOBase):
    """All frames of a file, one after another; raises an error if the file ends in the middle of a frame."""

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
                raise EOFError("the file ends in the middle of a compressed frame")
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
                raise EOFError(str(error)) from None
            self._is_within, data = not self._frame.eof, self._frame.unused_data
            if not self._is_within:
                self._frame = self._new()
        return b"".join(content)


def _decompressor(path: Path) -> tuple[Any, type[Exception]]:
    """A function that creates a decompressor for one frame, and the error that it raises."""
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


BLOCK = 1 << 20  # bytes read at a time from a stream that cannot seek
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)
"""Errors raised when reading a truncated or damaged compressed file."""


class LinePlace(NamedTuple):
    """A position between two lines: the number of bytes (of the decompressed file) and lines before it."""

    byte: int
    line: int


BEGINNING = LinePlace(0, 0)


def refuse_row(message: str) -> None:
    raise BadInput(message)


@dataclass
class LineReader:
    """Reads the lines of a stream one at a time, and keeps track of the position after the last line read.

    Args:
        stream: the lines as bytes, or as texts (which standard input may return).
        start: the position of the first row to read; a header before it is always read.
        reject: called with a description of what is wrong with a row; it raises, or returns to skip the row.
    """

    source: object
    stream: Iterable[Any]
    start: LinePlace = BEGINNING
    reject: Callable[[str], None] = refuse_row
    byte: int = 0
    line: int = 0
    is_broken: bool = False
    """Whether a line that is not valid UTF-8 has been rejected since the last call of `take_broken`."""

    def __iter__(self) -> Iterator[str]:
        try:
            for raw in self.stream:
                self.byte += len(raw)
                self.line += 1
                yield raw if isinstance(raw, str) else self._decoded(raw)
        except DAMAGED as error:
            raise BadInput(f"{self.source} is truncated or damaged after line {self.line:,}: {error}") from None

    @property
    def place(self) -> LinePlace:
        return LinePlace(self.byte, self.line)

    def skip(self) -> None:
        """Skip ahead to `start` unless it has been reached."""
        if self.start.byte <= self.byte:
            return
        try:
            _go_to(self.stream, self.start.byte, self.byte)
        except DAMAGED as error:
            raise BadInput(f"{self.source} is truncated or damaged: {error}") from None
        self.byte, self.line = self.start

    def take_broken(self) -> bool:
        """Whether a line has been rejected since the last call."""
        broken, self.is_broken = self.is_broken, False
        return broken

    def _decoded(self, raw: bytes) -> str:
        """Decode one line at a time, so that an error can name its line."""
        encoding = "utf-8-sig" if self.line == 1 else "utf-8"
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            self.reject(f"{self.source}, line {self.line} is not valid UTF-8 (byte {error.start + 1} is {byte:#04x})")
        self.is_broken = True
        return raw.decode(encoding, "replace")


@contextmanager
def open_lines(
    path: Path, start: LinePlace = BEGINNING, reject: Callable[[str], None] = refuse_row
) -> Iterator[LineReader]:
    with open_bytes(path) as file:
        yield LineReader(path, file, start, reject)


def is_utf8(text: str) -> bool:
    """Whether a text can be encoded as UTF-8; lone surrogates, which JSON escapes can contain, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def open_bytes(path: Path) -> Any:
    """The file's bytes as a stream, decompressed if its name has the suffix of a compressed file."""
    opener = OPENERS.get(path.suffix.lower())
    return path.open("rb") if opener is None else opener(path)


def data_ending(path: Path) -> str:
    """The suffix that identifies a file's format: .csv for names.csv.gz."""
    ending = path.suffix.lower()
    return Path(path.stem).suffix.lower() if ending in OPENERS else ending


def _go_to(stream: Any, byte: int, now: int) -> None:
    if stream.seekable():
        stream.seek(byte)
        return
    while now < byte:
        skipped = len(stream.read(min(BLOCK, byte - now)))
        if not skipped:
            return
        now += skipped


OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.GzipFile,
    ".zst": lambda path: io.BufferedReader(_Decompressed(path), READ_BYTES),  # cannot seek
}
