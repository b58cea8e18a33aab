"""Tables on a terminal: as wide as it is, and plain, whole lines where the output goes elsewhere."""

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

WIDE = 200  # columns, where there is no terminal
GAP = 2  # between columns
NARROW = 16  # columns of the terminal that nothing is cut to
LEAST = 8  # and that a text has at least


def table(*heads: str, head: bool = True) -> Table:
    """A table without rules; a head that begins with > is that of a column of numbers."""
    made = Table(box=None, pad_edge=False, show_header=head, header_style="dim", padding=(0, GAP, 0, 0))
    for name in heads:
        number = name.startswith(">")
        made.add_column(name.lstrip(">"), justify="right" if number else "left", no_wrap=number, overflow="fold")
    return made


def excerpt(columns: Mapping[str, Sequence[Any]], wide: int, indent: int) -> Table:
    """Some rows, a line each: wide columns share the room that the others leave, and are cut to it."""
    shown = {name: [one_line(value) for value in values] for name, values in columns.items()}
    longest = {name: max(map(cell_len, (name, *values))) for name, values in shown.items()}
    texts = [name for name in shown if longest[name] > NARROW]
    free = width(wide) - indent - sum(GAP + longest[name] for name in shown if name not in texts)
    share = max(LEAST, free // max(1, len(texts)) - GAP)
    made = table(*shown)
    for row in zip(*shown.values(), strict=True):
        cells = (shorten(cell, share) if name in texts else cell for name, cell in zip(shown, row, strict=True))
        made.add_row(*map(escape, cells))
    return made


def printable(made: Table, wide: int = WIDE, indent: int = 0) -> None:
    """Prints it, without the blanks that fill its lines."""
    console = Console(highlight=False, width=width(wide) - indent)
    with console.capture() as taken:
        console.print(made)
    for line in taken.get().splitlines():
        print(" " * indent + line.rstrip())


def aligned(text: str, wide: int = WIDE) -> None:
    """Prints a sentence, its later lines a little to the right."""
    start = len(text) - len(text.lstrip("\n"))
    print("\n" * start + textwrap.fill(text[start:], width(wide), subsequent_indent="  "))


def fill(text: str, indent: int) -> None:
    """Prints a line; on a terminal, what does not fit goes on in lines that begin so far to the right."""
    folded = textwrap.wrap(
        text, width(), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    print("\n".join(folded) if sys.stdout.isatty() else text)


def cut_to_width(text: str, wide: int = WIDE, indent: int = 0) -> str:
    """The beginning of a text that has room on one line, so far to the right."""
    return shorten(one_line(text), width(wide) - indent)


def fit_line(text: str, indent: int = 0) -> str:
    """A text on one line: what fits on the terminal to the right of so many columns, all of it where there is none."""
    return shorten(one_line(text), width() - indent) if sys.stdout.isatty() else one_line(text)


def shorten(text: str, room: int) -> str:
    """As much of a text as so many columns hold."""
    line = Text(text)
    line.truncate(max(1, room), overflow="ellipsis")
    return line.plain


def width(wide: int = WIDE) -> int:
    """Columns of the terminal; `wide` where there is none."""
    return Console().width if sys.stdout.isatty() else wide


def one_line(value: Any) -> str:
    """A value on one line, whatever it holds."""
    return " ".join(str(value).encode("utf-8", "replace").decode().split())
