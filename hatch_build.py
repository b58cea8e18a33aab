"""Compiles native/ into the wheel, or beside the sources of an editable installation.

LIKEWISE_NATIVE=0 leaves it out, 1 makes a missing compiler an error; otherwise a wheel without it is pure Python, and
NumPy computes.
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
        """Compiles, unless that is switched off or impossible."""
        wish = os.environ.get("LIKEWISE_NATIVE", "")
        if wish not in ("", "0", "1"):
            raise ValueError(f"LIKEWISE_NATIVE is {wish!r}; wanted 0 (leave out), 1 (must be built) or nothing")
        if self.target_name != "wheel" or wish == "0":
            return
        compiling = _load(Path(self.root, "native", "compile.py"))
        name = compiling.library_name()
        editable = version == "editable"
        folder = Path(self.root, "src", PLACE) if editable else Path(self.root, "build", "native")
        try:
            made = compiling.compile_library(folder / name)
        except compiling.CompileError as error:
            if wish == "1":
                raise
            self.app.display_warning(f"likewise is built without its compiled engine, and NumPy computes: {error}")
            return
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
