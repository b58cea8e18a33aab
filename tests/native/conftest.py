"""The native library, built once for all tests of these sources, where a compiler is."""

import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.engines.native.library import Library

ROOT = Path(__file__).parents[2]


def compiling() -> Any:
    """native/compile.py as a module."""
    spec = importlib.util.spec_from_file_location("native_compile", ROOT / "native/compile.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_same_bits(library: Library, compute: Callable[[str], np.ndarray]) -> np.ndarray:
    """What every instruction set computes, which must have the same bits."""
    best, *others = library.instruction_sets
    found = compute(best)
    for name in others:
        assert compute(name).tobytes() == found.tobytes(), name
    return found


@pytest.fixture(scope="session")
def library_path() -> Path:
    """Where the library lies; its folder is named by what it was built from, and only its owner may write there."""
    if given := os.environ.get("LIKEWISE_NATIVE_LIBRARY"):
        return Path(given)  # one with sanitizers, say
    module = compiling()
    if module.find_compiler() is None:
        pytest.skip("there is no C++ compiler to build the native library with")
    digest = hashlib.sha256()
    for source in sorted(path for path in (ROOT / "native").rglob("*") if path.suffix in (".cpp", ".h", ".py")):
        digest.update(source.name.encode() + source.read_bytes())
    folder = Path(tempfile.gettempdir(), f"likewise-native-{os.getuid()}-{digest.hexdigest()[:16]}")
    folder.mkdir(mode=0o700, exist_ok=True)
    assert folder.stat().st_uid == os.getuid()
    path = folder / module.library_name()
    return path if path.is_file() else module.compile_library(path)


@pytest.fixture(scope="session")
def library(library_path: Path) -> Library:
    return Library(library_path)
