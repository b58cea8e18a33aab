"""For pytest: under DROP_IN=1 `sentence_transformers` has the drop-in's names; each outcome goes to a file."""

import json
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

from likewise.integrations import sentence_transformers as drop_in
from likewise.integrations.sentence_transformers.refusals import HELPER, UTIL

OUTCOMES: dict[str, dict[str, str]] = {}
PARTS = ("", "util", "util.similarity", "util.retrieval", "util.quantization", "util.tensor")


def _refusing(name: str) -> Callable[..., NoReturn]:
    """In place of a function that is not served, so that no test passes by theirs."""

    def refuse(*arguments: Any, **options: Any) -> NoReturn:  # noqa: ARG001
        raise ImportError(f"the drop-in's util has no {name}: {UTIL[name]}")

    refuse.__name__ = name
    return refuse


def _replace() -> None:
    """Puts the drop-in's classes and functions where the tests import sentence-transformers' from."""
    ours = {name: getattr(drop_in.util, name) for name in drop_in.util.__all__}
    ours |= {name: getattr(drop_in, name) for name in ("SentenceTransformer", "CrossEncoder")}
    ours |= {name: _refusing(name) for name, refusal in UTIL.items() if refusal is not HELPER}
    for part in PARTS:
        module = import_module(f"sentence_transformers.{part}".rstrip("."))
        for name in ours.keys() & vars(module).keys():
            setattr(module, name, ours[name])


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
