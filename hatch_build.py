"""Compiles native/ into the wheel, or beside the sources of an editable installation, where a C++ compiler is.

Without one the wheel is pure Python, and NumPy or torch computes; `likewise doctor` says so. The environment decides
otherwise: LIKEWISE_NATIVE=0 leaves the library out, and LIKEWISE_NATIVE=1 makes it an error if it cannot be compiled.

The commit of a checkout is noted in what is built from it, for `likewise --version`.
"""

import importlib.util
import json
import os
import platform
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "likewise/engines/native"
REQUESTS = {"": "where a compiler is", "0": "left out", "1": "required"}
"""What LIKEWISE_NATIVE may be."""
PACKAGE_FOLDERS = {"sdist": "src/likewise", "wheel": "likewise"}
"""Where the package is in what is built."""


class LikewiseBuildHook(BuildHookInterface):
    """Adds the compiled library and the commit to what is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless that is not wanted or not possible; note the commit, where there is one."""
        requested = os.environ.get("LIKEWISE_NATIVE", "")
        if requested not in REQUESTS:
            meanings = ", ".join(f"{value or 'unset'} ({meaning})" for value, meaning in REQUESTS.items())
            raise ValueError(f"LIKEWISE_NATIVE is {requested!r}; expected {meanings}")
        editable = version == "editable"  # git knows the commit of one, which changes
        if not editable:
            self._note_commit(build_data)
        if self.target_name == "wheel" and requested != "0":
            self._compile(build_data, editable=editable, required=requested == "1")

    def _note_commit(self, build_data: dict[str, Any]) -> None:
        known = _load(Path(self.root, "src", "likewise", "source_commit.py"))
        commit = known.commit_of_checkout(Path(self.root))
        if commit is None:  # a source distribution brings the note that was made when it was built
            return
        note = Path(self.root, "build", known.BUILD_FILE)
        note.parent.mkdir(exist_ok=True)
        note.write_text(json.dumps({"commit": commit}) + "\n", "utf-8")
        build_data["force_include"][str(note)] = f"{PACKAGE_FOLDERS[self.target_name]}/{note.name}"

    def _compile(self, build_data: dict[str, Any], *, editable: bool, required: bool) -> None:
        compiling = _load(Path(self.root, "native", "compile.py"))
        folder = Path(self.root, "src", PLACE) if editable else Path(self.root, "build", "native")
        try:
            library = compiling.compile_library(folder / compiling.library_name())
        except compiling.CompileError as error:
            if required:
                raise
            self.app.display_warning(f"likewise: without its native library, and so slower on a CPU: {error}")
            return
        if not editable:
            build_data["force_include"][str(library)] = f"{PLACE}/{library.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform().replace('-', '_').replace('.', '_')}"


def _platform() -> str:
    """The platform of what is compiled here; on macOS, Python may be for two processors, and the library is for one."""
    return sysconfig.get_platform().replace("universal2", platform.machine())


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"likewise_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
