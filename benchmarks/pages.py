"""Fills README and docs with tables from benchmarks/results, so that no measured number is typed by hand.

    python -m benchmarks.pages

A page marks the position of a table with <!-- table: NAME --> and <!-- end -->. In each of the modules below, TABLES
maps pages and table names to the functions that draw the tables. A test redraws all tables and compares them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULES = (
    "choose_replay",
    "classification",
    "collection_search",
    "computations",
    "development",
    "known_items",
    "evaluation",
    "figures",
    "indexes",
    "int8_quality",
    "interval_coverage",
    "layers_page",
    "models",
    "page_tables",
    "peers.__main__",
    "projection",
    "published",
    "reranker_distillation",
    "serve_table",
    "static_tables",
    "supported_models",
    "table",
    "token_ids",
    "trainer_programs",
)

Draw = Callable[[], Iterable[str]]
"""A function that returns a table as lines of Markdown."""
PageTables = Mapping[str, Mapping[str, Draw]]
"""For each page, by its path from the repository root, its tables by name."""


def rows(head: str, body: Iterable[Iterable[object]], *below: str) -> list[str]:
    """Return a Markdown table with the header `a | b | c`, followed by the paragraphs in `below`."""
    columns = head.split(" | ")
    lines = ["|" + "".join(f" {cell} |" if cell != "" else " |" for cell in cells) for cells in (columns, *body)]
    paragraphs = [line for text in below for line in ("", text)]
    return [lines[0], "|---" * len(columns) + "|", *lines[1:], *paragraphs]


def all_tables() -> dict[str, dict[str, Draw]]:
    """Return the tables of every page."""
    result: dict[str, dict[str, Draw]] = {}
    for module in MODULES:
        tables: PageTables = import_module(f"benchmarks.{module}").TABLES
        for page, draws in tables.items():
            result.setdefault(page, {}).update(draws)
    return result


def filled(text: str, tables: Mapping[str, Draw]) -> str:
    """Return a page's text with its tables redrawn.

    Raises:
        ValueError: a table does not have exactly one marked position on the page.
    """
    for name, draw in tables.items():
        begin, end = f"<!-- table: {name} -->", "<!-- end -->"
        lines = "\n".join([begin, *draw(), end])
        text, count = re.subn(rf"{begin}\n.*?{end}", lambda _, lines=lines: lines, text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"the page contains {begin} {count} times; expected it once")
    return text


def draw(tables: PageTables) -> None:
    """Write these tables into their pages."""
    for page, draws in tables.items():
        path = ROOT / page
        path.write_text(filled(path.read_text("utf-8"), draws), "utf-8")
        print(f"written: {page}")


if __name__ == "__main__":
    draw(all_tables())
