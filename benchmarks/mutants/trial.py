"""Tries slips in forks of one process that has collected all tests, so that a trial costs little more than its tests.

A fork replaces the code of the functions that a slip changes; a slip outside of functions needs a new process. In both
cases, the slip is also written to a copy of `src`, whose other files are links and from which programs started by tests
import. The repository itself does not change.
"""

import gc
import importlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Literal

import pytest

from .coverage_map import ROOT, SOURCE
from .slips import Mutant

Outcome = Literal["caught", "survived", "endless", "unclear", "equal"]
"""The outcomes of a slip; `equal` means that it compiles to the same code as the source, or not at all."""
INTEGRATION = ROOT / ".venv" / "integration" / "bin" / "python"
"""The Python of `make integration`, in which the packages and servers of other indexes are installed."""
QUIET = ("-q", "-p", "no:cacheprovider", "--tb=no", "--no-header", "-W", "ignore::pytest.PytestAssertRewriteWarning")
BUSY = 2.0  # ratio of wall time to CPU time on a busy machine; the limit also ends a test that only waits
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
EXIT = os._exit  # tests may replace it
NAME = 60_000  # maximum bytes of a test's name


class Copy:
    """A copy of `src` made of links, in which one file at a time is a mutant; it comes first on the import path."""

    def __init__(self, place: Path) -> None:
        self.place = place
        shutil.rmtree(place, ignore_errors=True)
        for path in SOURCE.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                link = place / path.relative_to(SOURCE)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)

    def come_first(self) -> None:
        """Import from the copy, also in programs that tests start."""
        others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(self.place), *(p for p in others if p not in ("", str(SOURCE)))]
        )
        sys.path[:] = [str(self.place), str(ROOT), *(p for p in sys.path if p not in (str(SOURCE), str(ROOT), ""))]
        importlib.invalidate_caches()

    @contextmanager
    def holding(self, mutant: Mutant) -> Iterator[None]:
        """Put the mutant into the copy while the block runs."""
        path = self.place / mutant.file
        path.unlink()
        path.write_bytes(mutant.text(mutant.path.read_bytes()))
        os.utime(path, (time.time(), time.time() + 1e6))  # so that no stale bytecode is used
        yield
        path.unlink()
        path.symlink_to(mutant.path)


class Suite:
    """A pytest plugin that collects all tests and then runs `work` instead of them."""

    def __init__(self, copy: Copy, work: Callable[["Suite"], None]) -> None:
        self.copy, self.work = copy, work
        self.items: dict[str, pytest.Item] = {}
        self.sound: dict[str, bool] = {}
        self.failures = -1

    def run(self, *arguments: str) -> None:
        """Collect the tests, and run `work`."""
        self.copy.come_first()
        if code := pytest.main([*QUIET, *arguments], plugins=[self]):
            raise SystemExit(f"pytest ended with code {int(code)} while it collected the tests")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.functions = functions_below(str(self.copy.place))
        gc.freeze()  # so that no garbage collection copies the pages that forks share
        self.work(self)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self) -> tuple[str, str, str]:
        return "", "", ""  # no dot for a test

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End a fork at its first failure."""
        if self.failures >= 0 and report.failed:
            os.write(self.failures, report.nodeid.encode()[:NAME])
            EXIT(1)

    def outcome(
        self, mutant: Mutant, tests: Sequence[str], limit: float, python: Path | None = None, *, fresh: bool = False
    ) -> Outcome:
        """Try a slip with these tests, for at most `limit` CPU seconds.

        A failure counts only if the test passes in a fork without a slip. `python` runs the tests of make integration.
        `fresh` starts a new process, for functions that run only when a module is imported.
        """
        tests = [test for test in tests if self.sound.get(test, True)]
        if not tests:
            return "survived"
        python = Path(sys.executable) if fresh else python
        with self.copy.holding(mutant):
            found, failed = self._forked(mutant, tests, limit, python)
            if found == "unclear" and breaks_collection(self.copy.place, tests, python or Path(sys.executable)):
                found = "caught"
        if failed and failed not in self.sound:
            self.sound[failed] = self._forked(None, [failed], limit, None)[0] == "survived"
        return found if self.sound.get(failed, True) else self.outcome(mutant, tests, limit, python)

    def _forked(
        self, mutant: Mutant | None, tests: Sequence[str], limit: float, python: Path | None
    ) -> tuple[Outcome, str]:
        """Try a slip in a fork; returns the outcome, and the test that failed."""
        reader, self.failures = os.pipe()
        pid = os.fork()
        if pid == 0:
            with ExitStack() as stack:
                stack.callback(EXIT, 3)
                self._child(mutant, tests, limit, python)
        os.close(self.failures)
        self.failures = -1
        found = ended(pid, limit)
        os.set_blocking(reader, False)  # a process that a test started elsewhere may still hold the other end
        try:
            return found, os.read(reader, NAME).decode()
        except BlockingIOError:
            return found, ""
        finally:
            os.close(reader)

    def _child(self, mutant: Mutant | None, tests: Sequence[str], limit: float, python: Path | None) -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
        output = os.open(os.devnull, os.O_WRONLY)
        for number in (1, 2):
            os.dup2(output, number)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        if python is None and mutant is not None and not self._patched(mutant):
            python = Path(sys.executable)
        if python is not None:
            os.execv(python, pytest_command(python, "-x", *tests))
        items = [self.items[test] for test in tests]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        EXIT(0)

    def _patched(self, mutant: Mutant) -> bool:
        """Replace the code of the functions that a slip changes; returns whether that was possible."""
        name, source = str(self.copy.place / mutant.file), mutant.path.read_bytes()
        before, after = (dict(codes(compile(text, name, "exec"))) for text in (source, mutant.text(source)))
        changed = [
            code for place, code in after.items() if place not in before or meaning(before[place]) != meaning(code)
        ]
        live = [(function, code) for code in changed for function in self.functions[name, code.co_qualname]]
        if any(len(function.__code__.co_freevars) != len(code.co_freevars) for function, code in live):
            return False
        for function, code in live:
            function.__code__ = code
        return bool(live)


def pytest_command(python: Path, *arguments: str) -> list[str]:
    """The command for a new process that runs tests."""
    where = ("--confcutdir", "tests/integration") if python == INTEGRATION else ()
    return [str(python), "-m", "pytest", *QUIET, *where, *arguments]


def functions_below(folder: str) -> dict[tuple[str, str], list[FunctionType]]:
    """Find all functions defined below this folder, even decorated ones and closures, by file and qualified name."""
    found: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(folder):
            found[one.__code__.co_filename, one.__code__.co_qualname].append(one)
    return found


def codes(code: CodeType, place: tuple[object, ...] = ()) -> Iterator[tuple[tuple[object, ...], CodeType]]:
    """Yield the code of all functions and classes in this code, each with its path of names and numbers."""
    count: dict[str, int] = defaultdict(int)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            count[one.co_qualname] += 1
            inner = (*place, one.co_qualname, count[one.co_qualname])
            yield inner, one
            yield from codes(one, inner)


def meaning(code: CodeType) -> tuple[object, ...]:
    """Return what the code does, without its line numbers."""
    values = [meaning(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, values


def ended(pid: int, limit: float) -> Outcome:
    """Wait for a fork to end, for somewhat longer than its limit, and end all processes that it started."""
    last, done, status = time.monotonic() + BUSY * limit, 0, 0
    while not done and time.monotonic() < last:
        done, status = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.005)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if done:
        return outcome_of(os.waitstatus_to_exitcode(status))
    os.waitpid(pid, 0)
    return "endless"


def outcome_of(code: int) -> Outcome:
    """Return the outcome for an exit code: a test failed, the process crashed, or all tests passed."""
    if code in (1, 2) or -code in CRASHES:
        return "caught"
    if -code == signal.SIGXCPU:
        return "endless"
    return "survived" if code == 0 else "unclear"


def breaks_collection(source: Path, tests: Sequence[str], python: Path) -> bool:
    """Whether the files of these tests cannot be imported with this copy of the source."""
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = pytest_command(python, "--collect-only", *files)
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode != 0
