"""Tables and lines that fit the terminal, or complete plain lines if the output goes elsewhere."""

import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

__all__ = ["aligned", "cut_to_width", "escape", "excerpt", "fill", "fit_line", "one_line", "printable", "table"]

WIDE = 200  # columns to assume if there is no terminal
GAP = 2  # between columns
NARROW = 16  # columns up to this width are never cut
LEAST = 8  # minimum width of a text


def table(*heads: str, head: bool = True) -> Table:
    """A table without rules; a header that begins with > right-aligns its column, as for numbers."""
    result = Table(box=None, pad_edge=False, show_header=head, header_style="dim", padding=(0, GAP, 0, 0))
    for name in heads:
        number = name.startswith(">")
        result.add_column(name.lstrip(">"), justify="right" if number else "left", no_wrap=number, overflow="fold")
    return result


def excerpt(columns: Mapping[str, Sequence[Any]], wide: int, indent: int) -> Table:
    """Rows of one line each; wide columns are cut to share the space that the narrow ones leave."""
    shown = {name: [one_line(value) for value in values] for name, values in columns.items()}
    longest = {name: max(map(cell_len, (name, *values))) for name, values in shown.items()}
    texts = [name for name in shown if longest[name] > NARROW]
    free = width(wide) - indent - sum(GAP + longest[name] for name in shown if name not in texts)
    share = max(LEAST, free // max(1, len(texts)) - GAP)
    result = table(*shown)
    for row in zip(*shown.values(), strict=True):
        cells = (shorten(cell, share) if name in texts else cell for name, cell in zip(shown, row, strict=True))
        result.add_row(*map(escape, cells))
    return result


def printable(content: Table, wide: int = WIDE, indent: int = 0) -> None:
    """Print the table without trailing spaces."""
    console = Console(highlight=False, width=width(wide) - indent)
    with console.capture() as captured:
        console.print(content)
    for line in captured.get().splitlines():
        print(" " * indent + line.rstrip())


def aligned(text: str, wide: int = WIDE) -> None:
    """Print a sentence with its continuation lines indented."""
    start = len(text) - len(text.lstrip("\n"))
    print("\n" * start + textwrap.fill(text[start:], width(wide), subsequent_indent="  "))


def fill(text: str, indent: int) -> None:
    """Print a line; on a terminal, continuation lines are indented by this much."""
    folded = textwrap.wrap(
        text, width(), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    print("\n".join(folded) if sys.stdout.isatty() else text)


def cut_to_width(text: str, wide: int = WIDE, indent: int = 0) -> str:
    """The beginning of a text that fits on one line after `indent` columns."""
    return shorten(one_line(text), width(wide) - indent)


def fit_line(text: str, indent: int = 0) -> str:
    """A text on one line, cut to fit the terminal after `indent` columns, or complete if there is no terminal."""
    return shorten(one_line(text), width() - indent) if sys.stdout.isatty() else one_line(text)


def shorten(text: str, columns: int) -> str:
    """The beginning of a text that fits in this many columns."""
    line = Text(text)
    line.truncate(max(1, columns), overflow="ellipsis")
    return line.plain


def width(wide: int = WIDE) -> int:
    """The terminal's width in columns, or `wide` if there is none."""
    return Console().width if sys.stdout.isatty() else wide


def one_line(value: Any) -> str:
    """Any value as a single line."""
    return " ".join(str(value).encode("utf-8", "replace").decode().split())
