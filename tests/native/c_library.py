"""The library's own reading of model folders (lw_open, lw_encode), called as a program in C calls it."""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likewise.engines.native.library import PRECISIONS, Library
from likewise.native.library import MESSAGE, native_error


class Options(ctypes.Structure):
    _fields_ = (*((name, c_int32) for name in ("precision", "max_seq_length", "truncate_dim")), ("isa", c_char_p))


class File(ctypes.Structure):
    _fields_ = (("name", c_char_p), ("bytes", c_char_p), ("size", c_size_t))


class Texts(ctypes.Structure):
    _fields_ = (
        *(("texts", POINTER(c_char_p)), ("sizes", POINTER(c_size_t)), ("count", c_int64)),
        *(("prompt", c_char_p), ("prompt_name", c_char_p), ("threads", c_int32)),
    )


class Losses(ctypes.Structure):
    _fields_ = (("lost", c_void_p), *((name, c_int64) for name in ("cut", "long_words", "unknown")))


class Encoded(NamedTuple):
    vectors: np.ndarray
    lost: np.ndarray
    cut: int
    long_words: int
    unknown: int


class CModel:
    def __init__(self, c: Any, handle: int) -> None:
        self._c, self._handle = c, handle

    def encode(self, texts: Sequence[str | bytes], *, threads: int = 1, **prompts: str) -> Encoded:
        encoded = [text.encode() if isinstance(text, str) else text for text in texts]
        count, message = len(texts), ctypes.create_string_buffer(MESSAGE)
        request = Texts((c_char_p * count)(*encoded), (c_size_t * count)(*map(len, encoded)), count, threads=threads)
        for name, text in prompts.items():
            setattr(request, name, text.encode())
        vectors = np.full((count, self._c.lw_dimension(c_void_p(self._handle))), np.nan, np.float32)
        lost = np.zeros(count, np.int64)
        losses = Losses(lost.ctypes.data)
        pointers = (c_void_p(self._handle), byref(request), c_void_p(vectors.ctypes.data), byref(losses))
        if code := self._c.lw_encode(*pointers, message, c_size_t(MESSAGE)):
            raise native_error(code, message)
        return Encoded(vectors, lost, losses.cut, losses.long_words, losses.unknown)


@contextmanager
def opened(
    library: Library, model: Path | Mapping[str, bytes], precision: str = "fp32", **options: Any
) -> Iterator[CModel]:
    """The model of a folder, or of files in memory by their names; raises what Python's loading raises."""
    c, code, message = library.functions, c_int32(), ctypes.create_string_buffer(MESSAGE)
    c.lw_open.restype = c.lw_open_memory.restype = c_void_p
    rest = (byref(Options(PRECISIONS[precision], **options)), byref(code), message, c_size_t(MESSAGE))
    if isinstance(model, Path):
        handle = c.lw_open(str(model).encode(), *rest)
    else:
        files = (File * len(model))(*[File(name.encode(), data, len(data)) for name, data in model.items()])
        handle = c.lw_open_memory(files, len(model), *rest)
    if code.value:
        raise native_error(code.value, message)
    try:
        yield CModel(c, handle)
    finally:
        c.lw_close(c_void_p(handle))


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a model folder, by their names in it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
