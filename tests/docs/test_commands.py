"""Commands that the documentation shows are commands that there are, with options that they have."""

import shlex

import pytest

from likewise.cli.main import parser

from .pages import blocks


def commands() -> list[tuple[str, str]]:
    """Every `likewise …` line of a block without a language, or of a shell's; continued lines joined."""
    lines = []
    for block in blocks("", "bash", "console", "sh"):
        for line in block.text.replace("\\\n", " ").splitlines():
            line = line.removeprefix("$ ").partition(" #")[0].partition("   #")[0].strip()
            if line.startswith(("likewise ", "python -m likewise ")) and "VERB" not in line:
                lines.append((block.page, line))
    return lines


def test_the_overview_shows_commands():
    assert len([page for page, _ in commands() if page == "docs/overview.md"]) >= 10


@pytest.mark.parametrize(("page", "line"), commands())
def test_a_command_of_the_documentation_parses(page, line):
    words = shlex.split(line)
    words = words[words.index("likewise") + 1 :]
    words = words[: next((i for i, word in enumerate(words) if word in ("|", ">", "&", "&&", ";")), len(words))]
    try:
        parser().parse_args([word.replace("…", "x") for word in words])
    except SystemExit as error:
        assert error.code == 0, f"{page}: {line}"
