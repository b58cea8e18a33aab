"""The reference has everything that the packages export, and its docstrings are shown as they are meant."""

import importlib
import importlib.util
import re
import sys
from types import SimpleNamespace

import pytest

from .pages import ROOT, text_of

PACKAGES = (
    *("likewise", "search", "cluster", "calibrate", "explain", "migrate", "evaluate", "train", "train.objectives"),
    *("mine", "serve"),
)
LISTED_ELSEWHERE = {
    "likewise": {"Ragged", "similarity"},  # a value of torch; a page of its own
    "train.objectives": {"OBJECTIVES", "RERANKER_OBJECTIVES"},
    "evaluate": {"SUITES", "TASKS"},
    "cluster": {"CLUSTERINGS"},
    "mine": {"DEFAULT_RATIO", "STRATEGIES"},
}
"""What is no class or function of the package, and the tables of names."""
SHOWN = re.findall(
    r"^::: (\S+)$", "\n".join(path.read_text("utf-8") for path in (ROOT / "docs/api").glob("*.md")), re.M
)


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_package_exports_is_in_the_reference(package):
    name = package if package == "likewise" else f"likewise.{package}"
    exported = {*importlib.import_module(name).__all__} - LISTED_ELSEWHERE.get(package, set())
    shown = {one.rpartition(".")[2] for one in SHOWN if one.rpartition(".")[0] == name}
    assert shown <= exported
    assert exported - shown <= {"LikewiseError"}  # it is among the errors


@pytest.mark.parametrize("name", [one for one in SHOWN if ".integrations." not in one])  # they need other libraries
def test_what_the_reference_shows_is_there(name):
    module, _, own = name.rpartition(".")
    assert getattr(importlib.import_module(module), own) is not None


def test_nothing_is_in_the_reference_twice():
    assert len(SHOWN) == len({*SHOWN}) > 100


@pytest.fixture(scope="module")
def docstrings():
    """The extension of Griffe, with Griffe in name only: `make docs` has it."""
    stand_in = SimpleNamespace(Extension=object, Object=object, Attribute=object, Docstring=str)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "griffe", stand_in)
        spec = importlib.util.spec_from_file_location("docstrings", ROOT / "docs/site/docstrings.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def test_examples_become_blocks_of_code(docstrings):
    text = "It adds.\n\n>>> add(1, 2)              # doctest: +SKIP\n3\n>>> add(2, 2)\n4\n\nAnd no more."
    code = ">>> add(1, 2)\n3\n>>> add(2, 2)\n4"
    assert docstrings.with_fences(text) == f"It adds.\n\n\n```pycon\n{code}\n```\n\nAnd no more."
    assert docstrings.with_fences("It adds 1 >>> 2.") == "It adds 1 >>> 2."


def test_an_annotated_field_is_documented_by_its_annotation(docstrings):
    assert docstrings.annotated("Annotated[int | None, 'steps', _LENGTH]") == ("int | None", "steps")
    assert docstrings.annotated("dict[str, int]") is None and docstrings.annotated("int") is None


def test_the_concepts_list_every_page_of_theirs():
    listed = text_of("docs/concepts/index.md")
    names = {path.name for path in (ROOT / "docs/concepts").glob("*.md")} - {"index.md"}
    assert names and not [name for name in names if f"({name})" not in listed]
