"""What the tests do where torch is not installed: tests that need it are skipped, and counted by folder at the end."""

from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

from likewise.errors import MissingExtra

TORCH = find_spec("torch") is not None
REASON = "needs torch"


def skip(what: str, *, module: bool = False) -> NoReturn:
    """Leave a test or a module out, with its name, so that the report of each process is another."""
    pytest.skip(f"{REASON}: {what}", allow_module_level=module)


def is_lacking(error: BaseException | None) -> bool:
    """Whether this is the error of an import of torch, or the library's own for it."""
    if isinstance(error, MissingExtra):
        return "needs the package torch" in str(error)
    return isinstance(error, ModuleNotFoundError) and error.name == "torch"


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

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, request: pytest.FixtureRequest) -> Iterator[None]:
        return (yield from _skipping(request.node.nodeid))

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
    except ImportError as error:
        if is_lacking(error):
            skip(what)
        raise


def _folder(nodeid: str) -> str:
    """tests/train/step/test_x.py::test_y → tests/train"""
    return "/".join(Path(nodeid.partition("::")[0]).parent.parts[:2])
