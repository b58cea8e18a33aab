"""Measured tables in README and docs, drawn from benchmarks/results: no figure is typed by hand.

    python -m benchmarks.pages

A page marks the place of a table by <!-- table: NAME --> and <!-- end -->. Each of the modules below has TABLES: pages,
the names of their tables, and the functions that draw them. A test draws all of them again.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULES = (
    "development",
    "evaluation",
    "indexes",
    "layers_page",
    "models",
    "page_tables",
    "peers.__main__",
    "projection",
    "published",
    "serve_table",
    "table",
)

Draw = Callable[[], Sequence[str]]
"""Draws a table: its lines of Markdown."""
PageTables = Mapping[str, Mapping[str, Draw]]
"""Pages by their path from the root; the tables of each by name."""


def all_tables() -> dict[str, dict[str, Draw]]:
    """Every page's tables."""
    result: dict[str, dict[str, Draw]] = {}
    for module in MODULES:
        tables: PageTables = import_module(f"benchmarks.{module}").TABLES
        for page, draws in tables.items():
            result.setdefault(page, {}).update(draws)
    return result


def filled(text: str, tables: Mapping[str, Draw]) -> str:
    """A page's text with its tables drawn anew.

    Raises:
        ValueError: the page has not exactly one place for a table.
    """
    for name, draw in tables.items():
        begin, end = f"<!-- table: {name} -->", "<!-- end -->"
        lines = "\n".join([begin, *draw(), end])
        text, count = re.subn(rf"{begin}\n.*?{end}", lambda _, lines=lines: lines, text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{count} places are marked {begin}; expected 1")
    return text


def draw(tables: PageTables) -> None:
    """Write these tables into their pages."""
    for page, draws in tables.items():
        path = ROOT / page
        path.write_text(filled(path.read_text("utf-8"), draws), "utf-8")
        print(f"written: {page}")


if __name__ == "__main__":
    draw(all_tables())
