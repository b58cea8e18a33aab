"""Short strings in rows and columns, as plain text of a given width or as Markdown."""

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
BREAKS = re.compile(r"(?<=[-/(),:\s])")  # a long name goes on in the next line after one of these
LONGEST = 10  # letters of a name that are not broken

Strong = Callable[[str], bool]


@dataclass(frozen=True)
class TextTable:
    """A table: names of columns, and rows of a name and a string a column; a column of figures is aligned right.

    A row named "" is a line across.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    corner: str = ""
    words: frozenset[str] = frozenset()  # columns of words, aligned left

    def width(self, gap: int) -> int:
        return sum(self._widths()) + gap * len(self.columns)

    def text(self, gap: int = 2, strong: Strong = lambda _: False) -> str:
        """Lines, with `strong` cells in a terminal's bold."""
        widths = self._widths()
        heads = [_wrapped(name, width) for name, width in zip(self.columns, widths[1:], strict=True)]
        tall = max(map(len, heads), default=1)
        lines = []
        for i in range(tall):
            parts = [head[i - tall + len(head)] if i >= tall - len(head) else "" for head in heads]
            lines.append(self._line([self.corner if i == tall - 1 else "", *parts], widths, gap))
        lines.append("─" * self.width(gap))
        for row in self.rows:
            if not row[0]:
                lines.append("─" * self.width(gap))
                continue
            line = self._line(row, widths, gap)
            for cell in dict.fromkeys(filter(strong, row)):
                line = line.replace(cell, f"{BOLD}{cell}{PLAIN}")
            lines.append(line)
        return "\n".join(lines)

    def markdown(self, strong: Strong = lambda _: False) -> str:
        """A table of Markdown."""
        head = [self.corner, *self.columns]
        ruler = [":--" if name in self.words or not i else "--:" for i, name in enumerate(head)]
        rows = [[f"**{cell}**" if strong(cell) else cell for cell in map(_escaped, row)] for row in self.rows if row[0]]
        return "\n".join(f"| {' | '.join(row)} |" for row in [list(map(_escaped, head)), ruler, *rows])

    def _line(self, row: Sequence[str], widths: Sequence[int], gap: int) -> str:
        cells = [row[0].ljust(widths[0])]
        for name, cell, width in zip(self.columns, row[1:], widths[1:], strict=True):
            cells.append(cell.ljust(width) if name in self.words else cell.rjust(width))
        return (" " * gap).join(cells).rstrip()

    def _widths(self) -> list[int]:
        """As wide as the cells, or the longest part of the name that is not broken."""
        first = max(map(len, [self.corner, *(row[0] for row in self.rows)]))
        widths = [first]
        for j, name in enumerate(self.columns, 1):
            cells = [len(row[j]) for row in self.rows if row[0]]
            longest = max(map(len, BREAKS.split(name)), default=1)
            widths.append(max([*cells, min(LONGEST, longest), 1]))
        return widths


def fit_to_width(grids: Sequence[tuple[TextTable, int]], width: int) -> tuple[TextTable, int]:
    """The first grid that fits with its gap between columns; the narrowest where none does."""
    return next(
        (one for one in grids if one[0].width(one[1]) <= width), min(grids, key=lambda one: one[0].width(one[1]))
    )


def paragraph(text: str, width: int, hang: str = "") -> str:
    """A text in lines of this width, all but the first behind `hang`."""
    return textwrap.fill(text, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


def _wrapped(name: str, width: int) -> list[str]:
    """A name in lines of at most so many letters."""
    lines = [""]
    for part in BREAKS.split(name):
        if len(lines[-1]) + len(part.rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return [line.strip() for line in lines]


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("*", "\\*")
