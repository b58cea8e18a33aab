"""What the tests do where torch is not installed: tests that need it are skipped, and counted by folder at the end.

A test needs torch if it, its file or a fixture imports it, or if it fails after the library asked for torch.
"""

from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

from likewise.errors import MissingExtra

TORCH = find_spec("torch") is not None
REASON = "needs torch"
HINT = "(for the smaller CPU-only build"
"""Of every message that asks for torch (`install_hint`)."""
NO_MODULE = "No module named 'torch'"
asked: list[str] = []
"""The messages of this test's errors about missing packages; a command prints its error and raises nothing."""


def skip(what: str, *, module: bool = False) -> NoReturn:
    """Leave a test or a module out, with its name, so that the report of each process is another."""
    pytest.skip(f"{REASON}: {what}", allow_module_level=module)


def is_lacking(error: BaseException | None) -> bool:
    """Whether this is the error of an import of torch, or follows the library's own for it."""
    is_import = isinstance(error, ModuleNotFoundError) and error.name == "torch"
    return is_import or any(HINT in message or NO_MODULE in message for message in (str(error), *asked))


class Module(pytest.Module):
    """A file of tests, which may import torch."""

    def _getobj(self) -> Any:
        try:
            return super()._getobj()
        except self.CollectError as error:
            if is_lacking(error.__cause__):
                skip(self.nodeid, module=True)
            raise


class WithoutTorch:
    """The plugin; `tests/conftest.py` registers it where torch is not installed."""

    @pytest.hookimpl
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module:
        return Module.from_parent(parent, path=module_path)

    def pytest_configure(self) -> None:
        def noting(error: MissingExtra, *message: object) -> None:
            asked.append(str(message))
            ImportError.__init__(error, *message)

        MissingExtra.__init__ = noting

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        asked.clear()
        return (yield from _skipping(item.nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        return (yield from _skipping(pyfuncitem.nodeid))

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        reports = [one for one in terminalreporter.stats.get("skipped", []) if REASON in str(one.longrepr)]
        files = Counter(_folder(one.nodeid) for one in reports if isinstance(one, pytest.CollectReport))
        tests = Counter(_folder(one.nodeid) for one in reports if isinstance(one, pytest.TestReport))
        terminalreporter.section("left out: torch is not installed")
        for folder in sorted({*files, *tests}):
            terminalreporter.line(f"{folder:24} {files[folder]:4} files, {tests[folder]:5} tests of other files")
        terminalreporter.line(f"{'in all':24} {files.total():4} files, {tests.total():5} tests of other files")


def _skipping(what: str) -> Iterator[None]:
    try:
        return (yield)
    except (Exception, pytest.fail.Exception) as error:
        if is_lacking(error):
            skip(what)
        raise


def _folder(nodeid: str) -> str:
    """tests/train/step/test_x.py::test_y → tests/train"""
    return "/".join(Path(nodeid.partition("::")[0]).parent.parts[:2])
