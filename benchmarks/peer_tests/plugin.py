"""For pytest: under DROP_IN=1 `sentence_transformers` has the drop-in's names; each outcome goes to a file."""

import inspect
import json
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from likewise.integrations import sentence_transformers as drop_in

OUTCOMES: dict[str, dict[str, str]] = {}
PARTS = ("", "util", "util.similarity", "util.retrieval", "util.quantization", "util.tensor")


def _refusing(name: str) -> Callable[..., NoReturn]:
    """In place of a function that is not served, so that no test passes by theirs."""

    def refuse(*arguments: Any, **options: Any) -> NoReturn:  # noqa: ARG001
        raise ImportError(f"the drop-in's util has no {name}")

    refuse.__name__ = name
    return refuse


def _replace() -> None:
    """Puts the drop-in's classes and functions where the tests import sentence-transformers' from."""
    names = _own_functions(drop_in.util) | {"SimilarityFunction"}
    ours = {name: getattr(drop_in.util, name) for name in names}
    ours |= {name: getattr(drop_in, name) for name in ("SentenceTransformer", "CrossEncoder")}
    for part in PARTS:
        module = import_module(f"sentence_transformers.{part}".rstrip("."))
        for name in ours.keys() & vars(module).keys():
            setattr(module, name, ours[name])
        if "util." in part:
            for name in _own_functions(module) - ours.keys():
                setattr(module, name, _refusing(name))
                setattr(import_module("sentence_transformers.util"), name, _refusing(name))


def _own_functions(module: ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Notes how each test ended, and by which error."""
    report = (yield).get_result()
    if report.failed or report.skipped or report.when == "call":
        error = "" if call.excinfo is None else f"{call.excinfo.type.__name__}: {call.excinfo.value}"
        OUTCOMES.setdefault(item.nodeid, {"outcome": report.outcome, "error": error[:600]})


def pytest_collectreport(report) -> None:
    """A file that cannot be imported is an outcome too."""
    if report.failed:
        OUTCOMES[report.nodeid] = {"outcome": "not collected", "error": str(report.longrepr)[-300:]}


def pytest_sessionfinish() -> None:
    """Writes the outcomes."""
    Path(os.environ["OUTCOMES"]).write_text(json.dumps(OUTCOMES, indent=1), "utf-8")


if os.environ.get("DROP_IN") == "1":  # when this is imported, as the tests' conftest.py is imported before any hook
    _replace()
