"""The notebooks are short, were executed in order, and hold nothing of the machine that executed them."""

import ast
import json
import re

import pytest

from benchmarks.notebooks import FOLDER, NOTEBOOKS, alike, code_cells, differences, printed
from docs.site.repository_files import ROOT, is_external, linked_files, resolved

MOST_CELLS = 25
MOST_BYTES = 60_000  # of a plot, as text
MACHINE = re.compile(r"(?:^|[\s'\"(=])(?:/(?:home|root|tmp|usr|work|Users|opt)/|[A-Z]:\\)")
"""An absolute path."""


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return json.loads(request.param.read_text("utf-8"))


def source(cell):
    return "".join(cell["source"])


def shows(cell):
    """Whether a cell prints or draws something outside its functions."""
    outside = [node for node in ast.parse(source(cell)).body if not isinstance(node, ast.FunctionDef)]
    calls = [node.func for top in outside for node in ast.walk(top) if isinstance(node, ast.Call)]
    return any(getattr(call, "id", getattr(call, "attr", "")) in ("print", "show") for call in calls)


def test_a_notebook_is_short_and_says_what_it_needs(notebook):
    cells = notebook["cells"]
    assert len(cells) <= MOST_CELLS
    assert source(cells[0]).startswith("# ") and "\n\n**Needs** " in source(cells[0])


def test_a_notebook_was_executed_in_order(notebook):
    cells = code_cells(notebook)
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert [bool(cell["outputs"]) for cell in cells] == [shows(cell) for cell in cells]


def test_a_notebook_holds_nothing_of_a_machine(notebook):
    assert set(notebook["metadata"]) == {"kernelspec", "language_info", "tolerance"}
    assert 0 < notebook["metadata"]["tolerance"] <= 0.1
    texts = [source(cell) for cell in notebook["cells"]] + [printed(cell) for cell in code_cells(notebook)]
    assert not [text for text in texts if MACHINE.search(text)]


def test_plots_are_small_and_have_a_description(notebook):
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            plot = output.get("data", {}).get("image/png", "")
            assert len(plot) <= MOST_BYTES and (not plot or cell["metadata"]["alt"])


def test_links_of_a_notebook_lead_somewhere(notebook):
    prose = "\n".join(source(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    targets = re.findall(r"\]\(([^)\s#]+)", prose)
    assert targets and all(is_external(one) or resolved("examples/notebooks/any.ipynb", one) for one in targets)


def test_the_page_of_notebooks_lists_all_of_them():
    assert len(NOTEBOOKS) == 5
    assert {ROOT / path for path in linked_files("docs/notebooks.md")} >= {FOLDER / path.name for path in NOTEBOOKS}


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("rho 0.850, 1,000 rows", "rho  0.851, 1,000 rows", True),
        ("rho 0.850", "rho 0.852", False),
        ("gain +0.850", "gain -0.850", False),
        ("1,000 rows", "1,002 rows", False),
        ("5 found", "6 found", False),
        ("a cat", "a dog", False),
        ("one", "one 1", False),
    ],
)
def test_texts_are_alike_up_to_space_and_the_tolerance_of_numbers(a, b, same):
    assert alike(a, b, 0.001) is same


def test_any_difference_between_runs_is_reported():
    def run(*outputs):
        cells = [{"cell_type": "code", "outputs": [output]} for output in outputs]
        return {"cells": cells, "metadata": {"tolerance": 0.001}}

    plot = {"data": {"image/png": "iVBO", "text/plain": "<Figure>"}}
    assert not differences(run({"text": "1\n"}, plot), run({"text": "1\n"}, {"data": {"image/png": "other"}}))
    assert differences(run({"text": "1\n"}), run({"text": "2\n"})) == ["[1] committed:\n1\n\nnow:\n2\n"]
    assert differences(run(plot), run({"text": "1\n"})) and differences(run(plot), run())
