"""Builds the native library with the compiler that is there; nothing but Python's own library is needed.

hatch_build.py calls it for wheels and editable installations, the tests for themselves, and a person may:
    python native/compile.py FILE
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = Path(__file__).parent
FLAGS = ["-O3", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-pthread", "-DNDEBUG", "-w"]
"""Contraction is off: it would round a sum here and not there, and equal rows would no longer give equal bits."""
READING = {"families", "folder", "interface", "json", "safetensors"}
SMALL = ["-Os"]  # these read a model, once: they are compiled for size


class CompileError(RuntimeError):
    """There is no compiler, or it failed."""


def translation_units(folder: Path) -> list[Path]:
    """The files of the library that are compiled one by one."""
    return sorted([*folder.glob("*.cpp"), *folder.glob("text/*.cpp")])


def library_name() -> str:
    """The file's name, as likewise.engines.native.library looks for it."""
    return "likewise_native" + {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


def find_compiler() -> str | None:
    """CXX of the environment, else the first of the usual names that is there."""
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    return next((name for name in names if shutil.which(name.split()[0])), None)


def compile_library(target: Path) -> Path:
    """Compiles the library into this file, which appears whole or not at all.

    Raises:
        CompileError: with what the compiler said.
    """
    compiler = find_compiler()
    if compiler is None:
        raise CompileError("there is no C++ compiler: none of c++, g++, clang++ is on the path, and CXX names none")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        units = translation_units(SOURCES)
        objects = [Path(folder, f"{unit.stem}.o") for unit in units]
        commands = [
            [*FLAGS, *(SMALL if unit.stem in READING else ()), "-c", str(unit), "-o", str(made)]
            for unit, made in zip(units, objects, strict=True)
        ]
        with ThreadPoolExecutor(_processes()) as pool:
            list(pool.map(lambda command: _run([*compiler.split(), *command]), commands))
        made = Path(folder, library_name())
        _run([*compiler.split(), "-shared", "-pthread", *_link_flags(), "-o", str(made), *map(str, objects)])
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        shutil.copy(made, beside)
        beside.replace(target)
    return target


def _processes() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _link_flags() -> list[str]:
    """Where it is not part of the system, C++'s own library goes in: others lack it, or have another version."""
    return {"linux": ["-static-libstdc++", "-static-libgcc", "-s"], "win32": ["-static", "-s"]}.get(sys.platform, [])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CompileError(f"{' '.join(command)} failed:\n{done.stderr[-4000:]}")


if __name__ == "__main__":
    print(compile_library(Path(sys.argv[1])))
