"""Compiles native/ into the wheel, or beside the sources of an editable installation, if LIKEWISE_NATIVE=1.

No engine of the package uses the library yet, so it is left out by default, and the wheel is pure Python.
"""

import importlib.util
import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "likewise/engines/native"


class NativeBuildHook(BuildHookInterface):
    """Adds the compiled library to what is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile if LIKEWISE_NATIVE asks for it."""
        requested = os.environ.get("LIKEWISE_NATIVE", "0")
        if requested not in ("0", "1"):
            raise ValueError(f"LIKEWISE_NATIVE is {requested!r}; expected 0 (leave out) or 1 (build)")
        if self.target_name != "wheel" or requested == "0":
            return
        compiling = _load(Path(self.root, "native", "compile.py"))
        name = compiling.library_name()
        editable = version == "editable"
        folder = Path(self.root, "src", PLACE) if editable else Path(self.root, "build", "native")
        made = compiling.compile_library(folder / name)
        if not editable:
            build_data["force_include"][str(made)] = f"{PLACE}/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("likewise_native_compile", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
