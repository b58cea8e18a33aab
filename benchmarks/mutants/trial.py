"""Runs the tests on one mutant, in a fork of a process that has imported the heavy packages.

The repository does not change: the mutant is in a copy of `src` whose other files are links, and which comes first on
the path, also in processes that tests start.
"""

import importlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from .coverage_map import ROOT, SOURCE
from .slips import Mutant

Outcome = Literal["caught", "survived", "endless", "unclear", "equal"]
"""The outcomes of a slip; `equal`: it compiles to the same code as the source, or not at all."""
HEAVY = (
    "numpy torch torch.optim torch.utils.checkpoint scipy.stats sklearn.metrics sklearn.linear_model sklearn.cluster"
)
HEAVY += (
    " sklearn.model_selection pandas pyarrow.parquet tokenizers safetensors.torch pytest _pytest.fixtures hypothesis"
)
HEAVY += " jaxtyping beartype"
INTEGRATION = ROOT / ".venv" / "integration" / "bin" / "python"
"""The Python of `make integration`, which has the packages and servers of other indexes."""
QUIET = ("-x", "-q", "-p", "no:cacheprovider", "--tb=no", "--no-header")
QUIET += ("-W", "ignore::pytest.PytestAssertRewriteWarning")
BUSY = 2.0  # wall time per CPU time on a busy machine; this also ends a test that only waits
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)


def preload() -> None:
    """Import what no mutant changes, so that every child has it."""
    for name in HEAVY.split():
        with suppress(ImportError):
            importlib.import_module(name)


class Copy:
    """A copy of `src` made of links, in which one file at a time is a mutant."""

    def __init__(self, place: Path) -> None:
        self.place = place
        shutil.rmtree(place, ignore_errors=True)
        for path in SOURCE.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                link = place / path.relative_to(SOURCE)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)

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


def outcome_of(code: int) -> Outcome:
    """The outcome according to the exit code: a test failed, the process crashed, or all tests passed."""
    if code in (1, 2) or -code in CRASHES:
        return "caught"
    if -code == signal.SIGXCPU:
        return "endless"
    return "survived" if code == 0 else "unclear"


def breaks_import(source: Path, file: str) -> bool:
    """Whether the module of this file cannot be imported from the copy, so that all its tests would fail."""
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", f"import {module}"]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode != 0


def tested(
    source: Path, tests: Sequence[str], limit: float, python: Path | None = None, *, write: bool = False
) -> Outcome:
    """The outcome of these tests on this copy of the source, in a forked child that stops at the first failure and has
    `limit` seconds of the processor; `python` is what runs tests/integration.
    """
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            code = _run(source, tests, python, write)
        finally:
            os._exit(code)
    last, ended, status = time.monotonic() + BUSY * limit, 0, 0
    while not ended and time.monotonic() < last:
        ended, status = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # including all processes that the tests started
    if ended:
        return outcome_of(os.waitstatus_to_exitcode(status))
    os.waitpid(pid, 0)
    return "endless"


def _run(source: Path, tests: Sequence[str], python: Path | None, write: bool) -> int:
    os.setsid()
    output = os.open(os.devnull, os.O_WRONLY)
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
