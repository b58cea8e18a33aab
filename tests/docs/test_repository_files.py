"""Files outside docs/ that pages link to are part of the site, and links lead to where they are there."""

import json

import pytest

from docs.site.repository_files import (
    linked_files,
    notebook_page,
    outside_files,
    resolved,
    shown,
    site_path,
    with_links_of_the_site,
)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("docs/search.md", "search.md"),
        ("docs/figures/peers.svg", "figures/peers.svg"),
        ("README.md", "index.md"),
        ("recipes/README.md", "recipes/README.md"),
        ("ARCHITECTURE.md", "ARCHITECTURE.md"),
        ("benchmarks/results/pairs.json", "benchmarks/results/pairs.json"),
        ("benchmarks/pairs.py", "benchmarks/pairs.py.md"),
        ("benchmarks", "benchmarks/index.md"),
        ("native", "native/README.md"),
        ("docs/reproduced", "reproduced/README.md"),
    ],
)
def test_the_site_is_laid_out_as_the_repository(path, place):
    assert site_path(path) == place


def test_links_lead_to_where_files_are_on_the_site():
    text = "[a](../ARCHITECTURE.md#x) [b](search.md) [c](https://e.org) `[d](../no)`\n\n```\n[e](../no)\n```\n"
    changed = text.replace("../ARCHITECTURE.md#x", "ARCHITECTURE.md#x")
    assert with_links_of_the_site("docs/speed.md", text) == changed
    assert with_links_of_the_site("ARCHITECTURE.md", "[a](docs/search.md)") == "[a](search.md)"
    assert (
        with_links_of_the_site("recipes/README.md", "[a](../benchmarks/pairs.py)") == "[a](../benchmarks/pairs.py.md)"
    )


def test_a_picture_becomes_two_images_of_which_the_theme_shows_one():
    picture = '<picture>\n  <source media="(m)" srcset="figures/models-dark.svg">\n'
    picture += '  <img src="figures/models.svg" alt="a &amp; b">\n</picture>'
    both = "![a &amp; b](figures/models.svg#only-light) ![a &amp; b](figures/models-dark.svg#only-dark)"
    assert with_links_of_the_site("docs/models.md", picture) == both
    assert with_links_of_the_site("docs/models.md", f"```\n{picture}\n```") == f"```\n{picture}\n```"


def test_a_link_to_what_is_not_there_or_not_in_the_repository_is_refused():
    for target in ("no.md", "../../elsewhere"):
        with pytest.raises(FileNotFoundError, match=r"docs/search\.md links to"):
            resolved("docs/search.md", target)


def test_what_linked_pages_link_to_is_there_too():
    found = outside_files(["docs/index.md"])
    assert {"ARCHITECTURE.md", "CHANGELOG.md"} <= {*found} and "README.md" not in found
    further = linked_files("CONTRIBUTING.md") - {"README.md"}
    assert {path for path in further if not path.startswith("docs/")} <= {*found}


def test_programs_and_folders_become_pages():
    assert "# benchmarks/pairs.py\n\n````python\n" in shown("benchmarks/pairs.py")
    assert "| `pairs.py` | " in shown("benchmarks")


def test_notebooks_become_pages(tmp_path):
    picture = {"data": {"image/png": "iVBO\n", "text/plain": "<Figure>"}}
    outputs = [{"text": ["1\n"]}, picture]
    code = {"cell_type": "code", "metadata": {"alt": "A line"}, "source": ["print(1)"], "outputs": outputs}
    prose = {"cell_type": "markdown", "source": ["# A title\n", "text"]}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [prose, code]}))
    blocks = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n![A line](data:image/png;base64,iVBO)\n"
    assert notebook_page(tmp_path / "a.ipynb") == "# A title\ntext\n\n" + blocks
    page = shown("examples/notebooks/5-what-is-in-a-layer.ipynb")
    assert page.startswith("# What is in a layer\n") and "](../../layers.md)" in page
