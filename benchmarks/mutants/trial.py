"""One mutant against the tests: a process is forked from one that has the heavy packages, and tells by how it ends.

The files of the repository stay as they are: the mutant lies in a copy of `src`, whose other files are links, and which
comes before everything else on the path, that of the tests' own processes too.
"""

import importlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .coverage_map import ROOT, SOURCE
from .slips import Mutant

Outcome = Literal["caught", "survived", "endless", "unclear", "equal"]
"""What tests say of a slip; `equal`: it compiles to what the source does, or not at all."""
HEAVY = ("numpy", "torch", "scipy.stats", "sklearn.metrics", "pandas", "pyarrow.parquet", "tokenizers", "pytest")
HEAVY += ("hypothesis", "jaxtyping", "beartype", "safetensors.torch", "rich.console", "rich.progress", "torch.optim")
LATER = (
    "sklearn.linear_model",
    "sklearn.cluster",
    "sklearn.model_selection",
    "torch.utils.checkpoint",
    "_pytest.fixtures",
)

INTEGRATION = ROOT / ".venv" / "integration" / "bin" / "python"
"""The Python of `make integration`, which has the packages and servers of other indexes."""
QUIET = (
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "--tb=no",
    "--no-header",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)


def preload() -> None:
    """Imports what no mutant changes, so that each child has it."""
    for name in (*HEAVY, *LATER):
        with suppress(ImportError):
            importlib.import_module(name)


class Copy:
    """A `src` of links, in which one file at a time is a mutant."""

    def __init__(self, place: Path) -> None:
        self.place = place
        shutil.rmtree(place, ignore_errors=True)
        for path in SOURCE.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                link = place / path.relative_to(SOURCE)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)

    def put(self, mutant: Mutant) -> None:
        path = self.place / mutant.file
        path.unlink()
        path.write_bytes(mutant.text((SOURCE / mutant.file).read_bytes()))
        os.utime(
            path, (time.time(), time.time() + 1e6)
        )  # so that no compiled file of another text is taken for its own

    def restore(self, mutant: Mutant) -> None:
        path = self.place / mutant.file
        path.unlink()
        path.symlink_to(SOURCE / mutant.file)


@dataclass
class Trial:
    """A child at work on some tests; `limit` is in seconds of the processor."""

    pid: int
    began: float
    limit: float
    log: Path

    def result(self) -> Outcome | None:
        """How it ended, or None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self._end()
            return outcome_of(os.waitstatus_to_exitcode(status))
        if time.monotonic() - self.began < BUSY * self.limit:
            return None
        self._end()
        os.waitpid(self.pid, 0)
        return "endless"

    def _end(self) -> None:
        """With all that the tests began."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


BUSY = 6.0  # times as long by the clock as by the processor, on a busy machine; a test that only waits ends so
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


def outcome_of(code: int) -> Outcome:
    """What the exit code of the tests' process says: a test failed, or brought the process down, or all passed."""
    if code in (1, 2) or -code in CRASHES:
        return "caught"
    if -code == signal.SIGXCPU:
        return "endless"
    return "survived" if code == 0 else "unclear"


def breaks_import(source: Path, file: str) -> bool:
    """Whether the module of this file cannot even be imported from the copy: then every test of it fails."""
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", f"import {module}"]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode != 0


def begin(
    source: Path, tests: Sequence[str], limit: float, log: Path, *, write: bool = False, python: Path | None = None
) -> Trial:
    """Forks a child that runs these tests on this copy of the source, and stops at the first that fails; `python`
    is what runs tests/integration.
    """
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            code = _run(source, tests, log, write, python)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return Trial(pid, time.monotonic(), limit, log)


def _run(source: Path, tests: Sequence[str], log: Path, write: bool, python: Path | None) -> int:
    os.setsid()
    output = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    for number in (1, 2):
        os.dup2(output, number)
    os.chdir(ROOT)
    sys.dont_write_bytecode = not write
    os.environ["PYTHONDONTWRITEBYTECODE"] = "" if write else "1"
    os.environ["PYTHONPATH"] = str(source)
    if python is not None:
        os.execv(python, [str(python), "-m", "pytest", *QUIET, "--confcutdir", "tests/integration", *tests])
    sys.path[:] = [str(source), str(ROOT), *(p for p in sys.path if p not in (str(SOURCE), str(ROOT), ""))]
    importlib.invalidate_caches()
    import pytest

    return int(pytest.main([*QUIET, *tests]))


def wait(trial: Trial) -> Outcome:
    """Until it ends."""
    while (found := trial.result()) is None:
        time.sleep(0.02)
    return found
