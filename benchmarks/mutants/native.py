"""Slips in native/: drawn line by line, compiled, and run against the C++ and Python tests.

Only the units that include the changed file are recompiled. A slip that does not compile, or whose object files are
identical to the originals, is not counted: another slip is drawn instead.
"""

import os
import random
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from native.compile import FLAGS, find_compiler, translation_units

from .slips import ROOT, Mutant
from .trial import BUSY, Outcome, outcome_of

NATIVE = ROOT / "native"
AREA = "C++"
GENERATED = {"text/unicode_tables.h"}  # its entries are compared with the reference, code point by code point
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SANITIZED = ["-O1", "-g", "-std=c++17", "-ffp-contract=off", "-pthread", "-w", *SANITIZERS]
LIMIT = 300  # CPU seconds for the tests of a mutant; without a slip, they take a tenth of this time


def slips(file: Path) -> Iterator[Mutant]:
    """Yield every slip of a file, in the order of its lines."""
    text = file.read_text("utf-8")
    masked, begin = _masked(text), 0
    for number, line in enumerate(masked.splitlines(keepends=True), 1):
        if not line.lstrip().startswith(("#", "using ", "static_assert", "template")):
            for kind, pattern, changes in KINDS:
                for found in re.finditer(pattern, line):
                    for new in changes(found[0]):
                        start = len(text[: begin + found.start()].encode())
                        old = text[begin + found.start() : begin + found.end()]
                        name = file.relative_to(ROOT).as_posix()
                        yield Mutant(AREA, name, number, number, kind, start, start + len(old.encode()), old, new)
        begin += len(line)


def _masked(text: str) -> str:
    """Return the text with comments, character literals and strings replaced by blanks."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])\'', _blanks, text, flags=re.DOTALL)


def _blanks(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _exchanged(pairs: Sequence[tuple[str, str]]) -> Callable[[str], list[str]]:
    both = {**dict(pairs), **{b: a for a, b in pairs}}
    return lambda old: [both[old]]


def _numbers(old: str) -> list[str]:
    return [str(int(old) + 1), *([str(int(old) - 1)] if int(old) > 0 else [])]


KINDS: tuple[tuple[str, str, Callable[[str], list[str]]], ...] = (
    ("comparison", r" (?:<=?|>=?|==|!=) ", _exchanged([(" < ", " <= "), (" > ", " >= "), (" == ", " != ")])),
    ("arithmetic", r" [+-]=? ", _exchanged([(" + ", " - "), (" += ", " -= ")])),
    ("condition", r" (?:&&|\|\|) ", _exchanged([(" && ", " || ")])),
    ("constant", r"(?<![\w.])\d+(?![\w.'])", _numbers),
    (
        "dropped",
        r"(?<=[ )])(?:[\w.:>\[\]-]+(?:\(.*\)| [-+*/|&^]?= [^;]*|\+\+)|break|continue);(?= *$)",
        lambda _: [";"],
    ),
)
"""Kinds of slips: a pattern in a line without comments and strings, and its replacements."""


class Build:
    """A copy of native/ compiled with some flags: the includes of each unit, and its original object file."""

    def __init__(self, folder: Path, flags: Sequence[str]) -> None:
        self.folder, self.flags, self.tree = folder, flags, folder / "native"
        shutil.copytree(NATIVE, self.tree)
        units = [*translation_units(self.tree), self.tree / "tests" / "check.cpp"]
        self.included = {unit: _includes(unit, self.tree) for unit in units}
        self.objects = dict(zip(units, self._compiled_together(units), strict=True))
        if None in self.objects.values():
            raise SystemExit("native/ does not compile even without a slip; fix it first")

    def _compiled_together(self, units: Sequence[Path]) -> list[bytes | None]:
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return [*pool.map(self.compiled, units)]

    def compiled(self, unit: Path) -> bytes | None:
        """Compile a unit; returns its object file, or None if it does not compile."""
        made = self.folder / f"{unit.stem}.o"
        command = [*_compiler(), *self.flags, "-c", unit.name, "-o", str(made)]
        done = subprocess.run(command, cwd=unit.parent, capture_output=True, check=False)
        return made.read_bytes() if done.returncode == 0 else None

    def is_changed(self, mutant: Mutant) -> bool:
        """Compile a slip; returns whether it compiles and its object files differ from the originals."""
        name = mutant.file.removeprefix("native/")
        (self.tree / name).write_bytes(mutant.text(mutant.path.read_bytes()))
        units = [unit for unit in self.objects if name in self.included[unit]]
        made = self._compiled_together(units)
        return None not in made and made != [self.objects[unit] for unit in units]

    def restore(self, mutant: Mutant) -> None:
        """Restore the source and its object files."""
        name = mutant.file.removeprefix("native/")
        shutil.copy(mutant.path, self.tree / name)
        for unit, data in self.objects.items():
            if data is not None and name in self.included[unit]:
                (self.folder / f"{unit.stem}.o").write_bytes(data)

    def linked(self, *flags: str) -> str:
        """Link a test program or, with `-shared`, the library."""
        made = self.folder / ("library.so" if "-shared" in flags else "program")
        objects = [f"{unit.stem}.o" for unit in self.objects if unit.stem != "check" or "-shared" not in flags]
        command = [*_compiler(), "-pthread", *flags, "-o", str(made), *objects]
        subprocess.run(command, cwd=self.folder, check=True)
        return str(made)


def _includes(unit: Path, tree: Path) -> set[str]:
    """Return the relative paths of the files of native/ that a unit includes on this machine."""
    rule = subprocess.run([*_compiler(), "-std=c++17", "-MM", str(unit)], capture_output=True, text=True, check=True)
    files = (Path(name).resolve() for name in rule.stdout.replace("\\\n", " ").split()[1:])
    return {file.relative_to(tree.resolve()).as_posix() for file in files}


def _compiler() -> list[str]:
    found = find_compiler()
    if found is None:
        raise SystemExit("a C++ compiler is needed for slips in native/, but none was found")
    return found.split()


class Trials:
    """Two builds of the source: as released, and with sanitizers."""

    def __init__(self, folder: Path) -> None:
        self.plain, self.sanitized = Build(folder / "plain", FLAGS), Build(folder / "sanitized", SANITIZED)
        if (self._tested(), self._sanitary()) != ("survived", "survived"):
            raise SystemExit("the tests of native/ fail even without a slip; fix them first")

    def outcome(self, mutant: Mutant) -> Outcome:
        """Compile and test a slip; returns its outcome."""
        try:
            if not self.plain.is_changed(mutant):
                return "equal"
            found = self._tested()
            return self._sanitary() if found == "survived" and self.sanitized.is_changed(mutant) else found
        finally:
            self.plain.restore(mutant)
            self.sanitized.restore(mutant)

    def _tested(self) -> Outcome:
        """Run the C++ tests, then the library's Python tests."""
        found = _ended([self.plain.linked()])
        if found != "survived":
            return found
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", "tests/native"]
        return _ended(command, LIKEWISE_NATIVE_LIBRARY=self.plain.linked("-shared"))

    def _sanitary(self) -> Outcome:
        """Run the C++ tests under sanitizers, for slips that no other test catches."""
        return _ended([self.sanitized.linked(*SANITIZERS)], UBSAN_OPTIONS="halt_on_error=1")


def _ended(command: Sequence[str], **environment: str) -> Outcome:
    """Run a program for at most LIMIT CPU seconds; returns how it ended."""
    bound = partial(resource.setrlimit, resource.RLIMIT_CPU, (LIMIT, LIMIT + 5))
    how = {"cwd": ROOT, "env": {**os.environ, **environment}, "preexec_fn": bound, "capture_output": True}
    try:
        code = subprocess.run(command, timeout=BUSY * LIMIT, **how, check=False).returncode
    except subprocess.TimeoutExpired:
        return "endless"
    found = outcome_of(code)
    return "endless" if found == "unclear" else found


def shuffled(seed: int) -> list[Mutant]:
    """Return all slips of the files that this machine compiles, shuffled with a seed."""
    files = sorted({name for unit in translation_units(NATIVE) for name in _includes(unit, NATIVE)})
    every = [slip for name in files if name not in GENERATED for slip in slips(NATIVE / name)]
    return random.Random(f"{seed} {AREA}").sample(every, len(every))
