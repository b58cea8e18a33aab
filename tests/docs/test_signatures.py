"""The parameters and defaults of all documented names are those of signatures.txt: who changes one means to."""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from likewise.errors import MissingExtra
from tests.transcripts import WRITES

DOCS = Path(__file__).parents[2] / "docs" / "api"
LISTED = Path(__file__).with_name("signatures.txt")


def test_documented_parameters_and_defaults_are_those_listed():
    pytest.importorskip("torch", reason="some documented classes are torch modules")
    pages = [path.read_text("utf-8") for path in DOCS.rglob("*.md")]
    names = {name for page in pages for name in re.findall(r"^::: (\S+)", page, re.M)}
    lines = [line for name in sorted(names) if (value := documented(name)) for line in described(name, value)]
    found = "".join(f"{line}\n" for line in lines)
    if WRITES:
        LISTED.write_text(found, "utf-8")
    assert found == LISTED.read_text("utf-8"), "LIKEWISE_TRANSCRIPTS=write accepts the new signatures"


def documented(name: str) -> Any:
    """The class or function of this name; None for an adapter to a package that is not installed."""
    module, _, own = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), own)
    except MissingExtra:
        return None


def described(name: str, value: Any) -> Iterator[str]:
    """A function's parameters, or those of a class and its own public methods."""
    if callable(value) and not (inspect.isclass(value) and issubclass(value, Exception)):
        yield f"{name}({', '.join(parameters(value))})"
    for member in sorted(vars(value)) if inspect.isclass(value) else ():
        method = inspect.unwrap(getattr(value, member))
        if not member.startswith("_") and inspect.isfunction(method):
            yield f"    {member}({', '.join(parameters(method))})"


def parameters(value: Any) -> Iterator[str]:
    """Each parameter by name, with its default."""
    for one in inspect.signature(value).parameters.values():
        default = "" if one.default is one.empty else f"={shown(one.default)}"
        yield f"{'*' * (one.kind is one.VAR_POSITIONAL)}{'**' * (one.kind is one.VAR_KEYWORD)}{one.name}{default}"


def shown(default: Any) -> str:
    """A default; functions and classes by name, and numbers as they are."""
    return getattr(default, "__qualname__", None) or repr(default)
