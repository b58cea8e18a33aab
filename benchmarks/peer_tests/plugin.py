"""A pytest plugin that records all outcomes in a file and, if DROP_IN=1, puts the drop-in under the library's name."""

import inspect
import json
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, NoReturn

import pytest

from likewise.integrations import sentence_transformers as drop_in
from likewise.integrations.sentence_transformers import cross_encoder_losses

OUTCOMES: dict[str, dict[str, str]] = {}
TRAINING = {
    "sentence_transformer.losses": drop_in.losses,
    "sentence_transformer.evaluation": drop_in.evaluation,
    "cross_encoder.losses": cross_encoder_losses,
    "cross_encoder.evaluation": drop_in.evaluation,
    "sentence_transformer.trainer": drop_in,
    "sentence_transformer.training_args": drop_in,
    "cross_encoder.trainer": drop_in,
    "cross_encoder.training_args": drop_in,
}
"""Maps the modules from which training programs import to the drop-in's modules with the same names."""
PARTS = ("", "util", "util.similarity", "util.retrieval", "util.quantization", "util.tensor")


def _refusing(name: str) -> Callable[..., NoReturn]:
    """Return a replacement for a function that the drop-in lacks, so that no test passes by the original."""

    def refuse(*arguments: Any, **options: Any) -> NoReturn:  # noqa: ARG001
        raise ImportError(f"the drop-in has no {name}")

    refuse.__name__ = name
    return refuse


def _replace() -> None:
    """Put the drop-in's classes and functions where the tests import those of sentence-transformers."""
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


def _replace_training() -> None:
    """Replace the trainers, arguments, losses and evaluators of sentence-transformers by the drop-in's."""
    for place, ours in TRAINING.items():
        package = import_module(f"sentence_transformers.{place}")
        below = [
            import_module(one.name) for one in walk_packages(getattr(package, "__path__", ()), f"{package.__name__}.")
        ]
        names = {name for module in (package, *below) for name in _own_classes(module, package.__name__)}
        around = [package, *below, *map(import_module, ("sentence_transformers", package.__name__.rpartition(".")[0]))]
        for module in around:
            for name in names & vars(module).keys():
                setattr(module, name, getattr(ours, name, None) or _refusing(name))


def _own_classes(module: ModuleType, package: str) -> set[str]:
    return {
        name for name, value in vars(module).items() if inspect.isclass(value) and value.__module__.startswith(package)
    }


def _own_functions(module: ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Record how each test ended, and with which error."""
    report = (yield).get_result()
    if report.failed or report.skipped or report.when == "call":
        error = "" if call.excinfo is None else f"{call.excinfo.type.__name__}: {call.excinfo.value}"
        OUTCOMES.setdefault(item.nodeid, {"outcome": report.outcome, "error": error[:600]})


def pytest_collectreport(report) -> None:
    """Record a file that cannot be imported as an outcome."""
    if report.failed:
        OUTCOMES[report.nodeid] = {"outcome": "not collected", "error": str(report.longrepr)[-300:]}


def pytest_sessionfinish() -> None:
    """Write the outcomes."""
    Path(os.environ["OUTCOMES"]).write_text(json.dumps(OUTCOMES, indent=1), "utf-8")


if os.environ.get("DROP_IN") == "1":  # at import, because the tests' conftest.py is imported before any hook runs
    _replace()
    _replace_training()
