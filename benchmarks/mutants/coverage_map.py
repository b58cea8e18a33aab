"""Which tests run which lines, recorded by `coverage` in one run of the suite, in a file outside the repository.

This module names no room and no test file, so source and tests can be moved: the tests of a line are the tests that ran
it. If a file has changed since the run, its lines are mapped by comparing the two versions.
"""

import difflib
import json
import os
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from .slips import ROOT, SOURCE

KEPT = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "likewise-mutants" / "coverage.json"


@dataclass
class Map:
    """The tests, with numbers; and for each file, its text when it was mapped, and the tests that ran each line."""

    tests: list[str]
    seconds: list[float]
    files: dict[str, dict[str, list[int]]]
    texts: dict[str, str]
    _moved: dict[str, dict[int, int]] = field(default_factory=dict)

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each test, by its name."""
        return {name: i for i, name in enumerate(self.tests)}

    def of_lines(self, file: str, lines: Iterable[int]) -> list[int]:
        """The tests that run one of these lines of the current file, fastest first."""
        places = self._places(file)
        found = {i for line in lines if line in places for i in self.files.get(file, {}).get(str(places[line]), ())}
        return sorted(found, key=lambda i: self.seconds[i])

    def of_file(self, file: str) -> list[int]:
        """The tests that run any line of the file; tests that run the most lines come first."""
        counts: dict[int, int] = {}
        for tests in self.files.get(file, {}).values():
            for i in tests:
                counts[i] = counts.get(i, 0) + 1
        return sorted(counts, key=lambda i: (-counts[i], self.seconds[i]))

    def unknown(self, file: str, tests: Iterable[str]) -> list[str]:
        """The given tests that are newer than the map and whose file imports this module or from its room."""
        importing = {*_importing(file)}
        return [test for test in tests if test not in self.number and test.partition("::")[0] in importing]

    def of_importers(self, file: str) -> list[int]:
        """The tests in files that import this module or from its room; files that name the module come first, then
        the fastest.

        Such tests may read values, such as constants, without running any function of the module, or may run it in
        another process.
        """
        names_it = {path: Path(file).stem in (ROOT / path).read_text("utf-8") for path in _importing(file)}
        paths = [name.partition("::")[0] for name in self.tests]
        found = (i for i, path in enumerate(paths) if path in names_it)
        return sorted(found, key=lambda i: (not names_it[paths[i]], self.seconds[i]))

    def moved(self, file: str) -> dict[int, list[int]]:
        """The lines of the current file, and the tests that run them."""
        lines = self.files.get(file, {})
        return {today: lines[str(read)] for today, read in self._places(file).items() if str(read) in lines}

    def _places(self, file: str) -> dict[int, int]:
        """The lines of the current file (from 1), mapped to those of the mapped file."""
        if file not in self._moved:
            old, new = self.texts.get(file, "").splitlines(), (SOURCE / file).read_text("utf-8").splitlines()
            blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
            same = {block.b + i + 1: block.a + i + 1 for block in blocks for i in range(block.size)}
            self._moved[file] = {line: _nearest(same, line) for line in range(1, len(new) + 1)} if old else {}
        return self._moved[file]


def _importing(file: str) -> list[str]:
    """Return the test files that import this module or from its room."""
    module = file.removesuffix(".py").replace("/", ".")
    room = module.rpartition(".")[0]
    return [path for path in _files_of_the_suite() if _imports((ROOT / path).read_text("utf-8"), module, room)]


def _files_of_the_suite() -> list[str]:
    """Return all test files, except in folders that run as separate steps and may need missing packages."""
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]
    files = (path.relative_to(ROOT) for path in sorted((ROOT / "tests").rglob("test_*.py")))
    return [path.as_posix() for path in files if not {*path.parts} & {*configured["norecursedirs"]}]


def _imports(text: str, module: str, room: str) -> bool:
    return any(words in text for words in (f"{module} import", f"from {room} import", f"from {room}.", f'"{module}'))


def _nearest(same: dict[int, int], line: int) -> int:
    """Return the nearest old line above a new line, whose tests the new line gets."""
    while line > 0 and line not in same:
        line -= 1
    return same.get(line, 1)


def load() -> Map:
    """Load the saved map; if it does not exist, create it first."""
    if not KEPT.is_file():
        make([])
    return Map(**json.loads(KEPT.read_text("utf-8")))


def make(arguments: list[str]) -> None:
    """Run the tests under coverage in this process, and record which lines each test runs."""
    try:
        import coverage
    except ImportError:
        need = "the package coverage is needed to record which tests run a line"
        raise SystemExit(f"{need}; install it with: pip install coverage") from None
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    os.environ["COVERAGE_CORE"] = "ctrace"  # the only core that supports contexts in every version of Python
    measured = coverage.Coverage(data_file=None, source=[str(SOURCE / "likewise")], config_file=False)
    watch = _Watch(measured)
    measured.start()
    try:
        pytest.main(["-q", "-p", "no:cacheprovider", *arguments], plugins=[watch])
    finally:
        measured.stop()
    older = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else None
    kept = joined(Map(**_kept(measured.get_data(), watch)), Map(**older) if older else None)
    KEPT.write_text(
        json.dumps({name: value for name, value in vars(kept).items() if not name.startswith("_")}), "utf-8"
    )


def joined(new: Map, old: Map | None) -> Map:
    """Merge the new results with the earlier results of tests that were not run this time."""
    if old is None:
        return new
    others = [i for i, name in enumerate(old.tests) if name not in set(new.tests)]
    number = {i: len(new.tests) + k for k, i in enumerate(others)}
    files = {file: {line: list(tests) for line, tests in lines.items()} for file, lines in new.files.items()}
    for file in old.files:
        if (SOURCE / file).is_file():
            for line, tests in old.moved(file).items():
                files.setdefault(file, {}).setdefault(str(line), []).extend(number[i] for i in tests if i in number)
    texts = {file: (SOURCE / file).read_text("utf-8") for file in files if (SOURCE / file).is_file()}
    seconds = [*new.seconds, *(old.seconds[i] for i in others)]
    return Map([*new.tests, *(old.tests[i] for i in others)], seconds, files, texts)


class _Watch:
    """Tells coverage which test is running, and records each test's time and whether it passed."""

    def __init__(self, measured: Any) -> None:
        self.measured = measured
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.measured.switch_context(nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        self.measured.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self.failed.add(report.nodeid)


def _kept(data: Any, watch: _Watch) -> dict[str, Any]:
    names = sorted(name for name in watch.seconds if name not in watch.failed)
    number = {name: i for i, name in enumerate(names)}
    files, texts = {}, {}
    for measured in sorted(data.measured_files()):
        path = Path(measured)
        if not path.is_relative_to(SOURCE):
            continue
        file = path.relative_to(SOURCE).as_posix()
        lines = data.contexts_by_lineno(measured)
        files[file] = {str(n): sorted({number[c] for c in tests if c in number}) for n, tests in lines.items()}
        texts[file] = path.read_text("utf-8")
    seconds = [round(watch.seconds[name], 4) for name in names]
    return {"tests": names, "seconds": seconds, "files": files, "texts": texts}
