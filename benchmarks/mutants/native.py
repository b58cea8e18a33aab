"""Slips in native/: drawn line by line, compiled with what includes them, and run against the tests in C++ and Python.

Only the units that include the changed file are compiled again. A slip that does not compile, or whose objects are
those of the source to the last byte, is no slip: another is drawn in its place.
"""

import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from native.compile import FLAGS, find_compiler

from .slips import ROOT, Mutant
from .trial import BUSY, CRASHES, Outcome

NATIVE = ROOT / "native"
AREA = "C++"
SANITIZED = ["-O1", "-g", "-std=c++17", "-ffp-contract=off", "-pthread", "-w"]
SANITIZED += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
LIMIT = 20.0  # seconds of the processor that a mutant is given beyond PATIENCE times what the source takes
PATIENCE = 3.0


def slips(file: Path) -> Iterator[Mutant]:
    """Every slip of a file, in the order of its lines."""
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
    """The text with blanks for comments, characters and strings."""
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
"""Kinds of slips: a pattern of a line without comments and strings, and what may stand in its place."""


@dataclass
class Build:
    """The objects of the source, by their units, and what each unit includes."""

    folder: Path
    flags: Sequence[str]
    objects: dict[str, Path] = field(default_factory=dict)
    included: dict[str, set[str]] = field(default_factory=dict)

    def begin(self) -> None:
        """Compile every unit, and the check."""
        self.folder.mkdir(parents=True, exist_ok=True)
        units = [*sorted(NATIVE.glob("*.cpp")), NATIVE / "tests" / "check.cpp"]
        for unit in units:
            self.included[unit.stem] = _includes(unit)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            made = pool.map(lambda unit: _compiled(unit, self.folder / f"{unit.stem}.o", self.flags), units)
            self.objects = {unit.stem: path for unit, path in zip(units, made, strict=True) if path is not None}
        if len(self.objects) != len(units):
            raise SystemExit("native/ does not compile as it is")

    def changed(self, mutant: Mutant, tree: Path, folder: Path) -> dict[str, Path] | None:
        """The objects with a slip, of a copy of native/; None if it does not compile or changes nothing."""
        folder.mkdir(exist_ok=True)
        units = [name for name, files in self.included.items() if mutant.file.removeprefix("native/") in files]
        made = dict(self.objects)
        for name in units:
            unit = tree / "tests" / "check.cpp" if name == "check" else tree / f"{name}.cpp"
            path = _compiled(unit, folder / f"{name}.o", self.flags)
            if path is None:
                return None
            made[name] = path
        same = all(made[name].read_bytes() == self.objects[name].read_bytes() for name in units)
        return None if same else made


def _includes(unit: Path) -> set[str]:
    """The files of native/ that a unit is made of on this machine, by their names below it."""
    rule = subprocess.run([*_compiler(), "-std=c++17", "-MM", str(unit)], capture_output=True, text=True, check=True)
    files = (Path(name).resolve() for name in rule.stdout.replace("\\\n", " ").split()[1:])
    return {file.relative_to(NATIVE).as_posix() for file in files}


def _compiler() -> list[str]:
    found = find_compiler()
    if found is None:
        raise SystemExit("wanted a C++ compiler for slips in native/")
    return found.split()


def _compiled(unit: Path, made: Path, flags: Sequence[str]) -> Path | None:
    command = [*_compiler(), *flags, "-c", unit.name, "-o", str(made)]
    done = subprocess.run(command, cwd=unit.parent, capture_output=True, check=False)
    return made if done.returncode == 0 else None


def _linked(objects: dict[str, Path], made: Path, *flags: str) -> Path:
    paths = [str(path) for name, path in objects.items() if name != "check" or "-shared" not in flags]
    subprocess.run([*_compiler(), "-pthread", *flags, "-o", str(made), *paths], check=True)
    return made


class Trials:
    """The source compiled twice, as it is shipped and with sanitizers, and how long its tests take."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree = folder, folder / "native"
        shutil.copytree(NATIVE, self.tree)
        self.plain, self.sanitized = Build(folder / "plain", FLAGS), Build(folder / "sanitized", SANITIZED)
        self.plain.begin()
        self.sanitized.begin()
        self.seconds: dict[str, float] = {}
        for stage, objects in (*self._stages(self.plain.objects), self._last(self.sanitized.objects)):
            began = resource.getrusage(resource.RUSAGE_CHILDREN)
            if _ended(objects(), None) != "survived":
                raise SystemExit(f"the tests of native/ fail without a slip: {stage}")
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.seconds[stage] = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime

    def outcome(self, mutant: Mutant) -> Outcome | None:
        """What became of a slip; None if it is none."""
        place = self.tree / mutant.file.removeprefix("native/")
        source = place.read_bytes()
        place.write_bytes(mutant.text(source))
        try:
            objects = self.plain.changed(mutant, self.tree, self.folder / "changed")
            if objects is None:
                return None
            for stage, command in self._stages(objects):
                found = _ended(command(), LIMIT + PATIENCE * self.seconds[stage])
                if found != "survived":
                    return found
            objects = self.sanitized.changed(mutant, self.tree, self.folder / "changed")
            if objects is None:
                return "survived"
            stage, command = self._last(objects)
            return _ended(command(), LIMIT + PATIENCE * self.seconds[stage])
        finally:
            place.write_bytes(source)

    def _stages(self, objects: dict[str, Path]) -> list[tuple[str, Callable[[], "Command"]]]:
        """The check in C++, then Python's tests of the library."""
        return [
            ("check", lambda: Command([str(_linked(objects, self.folder / "check"))], {})),
            ("tests/native", lambda: self._pytest(_linked(objects, self.folder / "mutant.so", "-shared"))),
        ]

    def _last(self, objects: dict[str, Path]) -> tuple[str, Callable[[], "Command"]]:
        """The check under sanitizers, for what nothing else notices."""
        options = {"UBSAN_OPTIONS": "halt_on_error=1"}
        flags = [flag for flag in SANITIZED if flag.startswith("-fsanitize")]
        return "sanitizers", lambda: Command([str(_linked(objects, self.folder / "sanitary", *flags))], options)

    def _pytest(self, library: Path) -> "Command":
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", "tests/native"]
        return Command(command, {"LIKEWISE_NATIVE_LIBRARY": str(library)})


@dataclass(frozen=True)
class Command:
    """A program and what it finds in its environment beside ours."""

    words: Sequence[str]
    environment: dict[str, str]


def _ended(command: Command, limit: float | None) -> Outcome:
    """How it ended, given seconds of the processor."""

    def bound() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))

    try:
        done = subprocess.run(
            command.words,
            cwd=ROOT,
            env={**os.environ, **command.environment},
            preexec_fn=bound,
            timeout=None if limit is None else BUSY * limit,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "endless"
    if done.returncode == 0:
        return "survived"
    return "caught" if done.returncode in (1, 2) or -done.returncode in CRASHES else "endless"


def shuffled(seed: int) -> list[Mutant]:
    """All slips of the files that this machine compiles, in the order of a seed."""
    units = sorted(NATIVE.glob("*.cpp"))
    files = sorted({name for unit in units for name in _includes(unit)})
    every = [mutant for name in files for mutant in slips(NATIVE / name)]
    return random.Random(f"{seed} {AREA}").sample(every, len(every))


def try_all(
    every: Sequence[Mutant],
    of: Callable[[Mutant], Outcome | None],
    add: Callable[[Mutant, Outcome, float], None],
    *,
    count: int,
    folder: Path,
    seconds: float | None,
) -> list[Mutant]:
    """The first `count` that are slips, each tried unless its outcome is known; fewer if the time is over."""
    drawn: list[Mutant] = []
    trials, began = None, time.monotonic()
    for mutant in every:
        if len(drawn) == count or (seconds is not None and time.monotonic() - began > seconds):
            break
        start, outcome = time.monotonic(), of(mutant)
        if outcome is None:
            trials = trials or Trials(folder)
            outcome = trials.outcome(mutant) or "equal"
            add(mutant, outcome, time.monotonic() - start)
        if outcome != "equal":
            drawn.append(mutant)
    return drawn
