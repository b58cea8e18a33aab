"""What the documentation shows can be run: commands parse, Python compiles, links lead somewhere."""

import ast
import re
import shlex
from pathlib import Path

import pytest

from likewise.cli.main import parser
from likewise.errors import MissingExtra

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


def blocks(language: str) -> list[tuple[str, str]]:
    """Page and text of each code block of a language."""
    results = []
    for page in PAGES:
        for name, text in BLOCK.findall(page.read_text("utf-8")):
            if name == language and page.name not in ("CHANGELOG.md", "logbook.md"):
                results.append((page.name, text))
    return results


def commands() -> list[tuple[str, str]]:
    """Every `likewise …` line of a code block without a language, or of bash or console; continued lines joined."""
    lines = []
    for page, text in [pair for language in ("", "bash", "console", "sh") for pair in blocks(language)]:
        for line in text.replace("\\\n", " ").splitlines():
            line = line.removeprefix("$ ").partition(" #")[0].partition("   #")[0].strip()
            if line.startswith(("likewise ", "python -m likewise ")) and "VERB" not in line:
                lines.append((page, line))
    return lines


def test_the_readme_shows_commands():
    assert len([page for page, _ in commands() if page == "README.md"]) >= 10


@pytest.mark.parametrize(("page", "line"), commands())
def test_a_command_of_the_documentation_parses(page, line):
    words = shlex.split(line)
    words = words[words.index("likewise") + 1 :]
    words = words[: next((i for i, word in enumerate(words) if word in ("|", ">", "&&", ";")), len(words))]
    try:
        parser().parse_args([word.replace("…", "x") for word in words])
    except SystemExit as error:
        assert error.code == 0, f"{page}: {line}"


def defined_in(module: str) -> set[str]:
    """The functions and classes that a module's source defines."""
    source = (ROOT / "src" / module.replace(".", "/")).with_suffix(".py").read_text("utf-8")
    return {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize(("page", "text"), blocks("python"))
def test_python_of_the_documentation_compiles_and_its_imports_exist(page, text):
    tree = ast.parse(text.replace("…", "..."))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("likewise"):
            try:
                exec(compile(ast.Module([node], []), page, "exec"), {})
            except MissingExtra:  # `make integration` has the package; here its definition is looked for
                assert {alias.name for alias in node.names} <= defined_in(node.module)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_within_the_documentation_lead_somewhere(page):
    targets = [target for target, _ in LINK.findall(page.read_text("utf-8")) if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing
