"""Compiles native/ into the wheel, or beside the sources of an editable installation, where a C++ compiler is.

Without one the wheel is pure Python, and NumPy or torch computes; `likewise doctor` says so. The environment decides
otherwise: LIKEWISE_NATIVE=0 leaves the library out, and LIKEWISE_NATIVE=1 makes it an error if it cannot be compiled.
"""

import importlib.util
import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "likewise/engines/native"
REQUESTS = {"": "where a compiler is", "0": "left out", "1": "required"}
"""What LIKEWISE_NATIVE may be."""


class NativeBuildHook(BuildHookInterface):
    """Adds the compiled library to what is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless that is not wanted or not possible."""
        requested = os.environ.get("LIKEWISE_NATIVE", "")
        if requested not in REQUESTS:
            meanings = ", ".join(f"{value or 'unset'} ({meaning})" for value, meaning in REQUESTS.items())
            raise ValueError(f"LIKEWISE_NATIVE is {requested!r}; expected {meanings}")
        if self.target_name != "wheel" or requested == "0":
            return
        compiling = _load(Path(self.root, "native", "compile.py"))
        editable = version == "editable"
        folder = Path(self.root, "src", PLACE) if editable else Path(self.root, "build", "native")
        try:
            library = compiling.compile_library(folder / compiling.library_name())
        except compiling.CompileError as error:
            if requested == "1":
                raise
            self.app.display_warning(f"likewise: without its native library, and so slower on a CPU: {error}")
            return
        if not editable:
            build_data["force_include"][str(library)] = f"{PLACE}/{library.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("likewise_native_compile", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
