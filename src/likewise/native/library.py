"""Find the compiled library, check its version, and call it through ctypes.

Its C interface is native/likewise_native.h. ctypes releases the GIL while the library computes.
"""

import ctypes
import os
import sys
from ctypes import c_char_p
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import BadInput, BadModel, NativeUnavailable

VERSION = 9  # the version of the interface; LW_VERSION in native/likewise_native.h
ARITHMETIC = 2
"""The version of the native engine's arithmetic (LW_ARITHMETIC), incremented whenever any bit of a vector changes."""
FILE = "likewise_native" + {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
MESSAGE = 1024  # bytes of an error message's buffer
_BAD_INPUT, _NO_MEMORY = 3, 4


class CompiledLibrary:
    """The loaded library; `functions` is its C interface."""

    def __init__(self, path: Path) -> None:
        try:
            self.functions = ctypes.CDLL(str(path))
        except OSError as error:
            raise NativeUnavailable(f"{path} cannot be loaded ({error}); build it again: pip install .") from error
        self._check_version(path)
        self.path = path
        self.functions.lw_instruction_sets.restype = c_char_p

    def _check_version(self, path: Path) -> None:
        try:
            found = int(self.functions.lw_version())
        except AttributeError as error:
            raise NativeUnavailable(f"{path} is not this package's library: it has no lw_version") from error
        if found != VERSION:
            raise NativeUnavailable(
                f"{path} has version {found} of the interface, but this package needs {VERSION}; "
                "build it again: pip install ."
            )

    @property
    def instruction_sets(self) -> tuple[str, ...]:
        """The instruction sets that both this processor and the library support, best first."""
        return tuple(self.functions.lw_instruction_sets().decode().split())


def folder() -> Path:
    """The folder of the library, if built: next to the engine that computes models with it."""
    return Path(__file__).parents[1] / "engines" / "native"


def library_path() -> Path:
    """The library of this installation, or the file given by LIKEWISE_NATIVE_LIBRARY."""
    path = Path(os.environ.get("LIKEWISE_NATIVE_LIBRARY") or folder() / FILE)
    if not path.is_file():
        raise NativeUnavailable(
            f"there is no compiled library at {path}: this installation is pure Python. "
            "With a C++ compiler, pip install . builds it"
        )
    return path


@cache
def load_library() -> CompiledLibrary:
    return CompiledLibrary(library_path())


def native_error(code: int, message: Any) -> Exception:
    """The exception for an error code of the library (0 is success), with its message."""
    kind = {_BAD_INPUT: BadInput, _NO_MEMORY: MemoryError}.get(code, BadModel)
    return kind(message.value.decode(errors="replace"))
