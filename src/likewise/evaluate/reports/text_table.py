"""A table of short strings, as plain text of a given width."""

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
BREAKS = re.compile(r"(?<=[-/(),:\s])")  # a long name may be broken after one of these
MIN_WRAP_WIDTH = 10  # shorter parts of a name are kept whole


@dataclass(frozen=True)
class TextTable:
    """A table: column names, and rows with a name and one string per column; numbers are right-aligned.

    A row named "" is a horizontal line.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_aligned: frozenset[str] = frozenset()  # names of columns that hold words
    has_whole_names: bool = False  # column names stay on one line

    def width(self, gap: int) -> int:
        """The width in characters, given the gap between columns."""
        return sum(self._widths()) + gap * len(self.columns)

    def text(self, gap: int = 2, is_bold: Callable[[str], bool] = lambda _: False) -> str:
        """The table as lines of text; cells for which `is_bold` is true are shown in bold in a terminal."""
        widths = self._widths()
        heads = [_wrapped(name, width) for name, width in zip(self.columns, widths[1:], strict=True)]
        height = max(map(len, heads), default=1)
        lines, ruler = [], "─" * self.width(gap)
        for i in range(height):
            parts = [head[i - height + len(head)] if i >= height - len(head) else "" for head in heads]
            lines.append(self._line(["", *parts], widths, gap))
        lines.append(ruler)
        for row in self.rows:
            line = self._line(row, widths, gap) if row[0] else ruler
            for cell in dict.fromkeys(filter(is_bold, row)):
                line = line.replace(cell, f"{BOLD}{cell}{PLAIN}")
            lines.append(line)
        return "\n".join(lines)

    def _line(self, row: Sequence[str], widths: Sequence[int], gap: int) -> str:
        cells = [row[0].ljust(widths[0])]
        for name, cell, width in zip(self.columns, row[1:], widths[1:], strict=True):
            cells.append(cell.ljust(width) if name in self.left_aligned else cell.rjust(width))
        return (" " * gap).join(cells).rstrip()

    def _widths(self) -> list[int]:
        """Column widths: the width of the widest cell, or of the longest unbreakable part of the column name."""
        widths = [max((len(row[0]) for row in self.rows), default=0)]
        for j, name in enumerate(self.columns, 1):
            cells = [len(row[j]) for row in self.rows if row[0]]
            longest = min(MIN_WRAP_WIDTH, max(map(len, BREAKS.split(name)), default=1))
            widths.append(max([*cells, len(name) if self.has_whole_names else longest, 1]))
        return widths


def fit_to_width(layouts: Sequence[tuple[TextTable, int]], width: int) -> tuple[TextTable, int]:
    """The first table and column gap that fit within the width, or the narrowest ones if nothing fits."""
    narrowest = min(layouts, key=lambda one: one[0].width(one[1]))
    return next((one for one in layouts if one[0].width(one[1]) <= width), narrowest)


def paragraph(text: str, width: int, indent: str = "") -> str:
    """Wrap a text to this width, indenting every line but the first by `indent`."""
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _wrapped(name: str, width: int) -> list[str]:
    lines = [""]
    for part in BREAKS.split(name):
        if len(lines[-1]) + len(part.rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return [line.strip() for line in lines]
