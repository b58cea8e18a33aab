"""Tables, lines and colours that fit the terminal, or complete plain lines if the output goes elsewhere."""

import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

WIDE = 200  # columns to assume if there is no terminal
GAP = 2  # between columns
NARROW = 16  # columns up to this width are never cut
LEAST = 8  # minimum width of a text
SGR = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36"}
"""SGR codes, keyed by style name."""
STYLED = re.compile(r"\x1b\[[0-9;]*m")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # with bidirectional controls


@dataclass
class TerminalTable:
    """A table without ruled lines. Columns whose header begins with > hold numbers: right-aligned and never wrapped."""

    heads: tuple[str, ...]
    has_head: bool
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        self.rows.append(cells)

    def lines(self, room: int) -> Iterator[str]:
        """The lines of the table, at most this wide unless its numbers alone are wider."""
        heads = [head.lstrip(">") for head in self.heads]
        widths = self._widths([heads, *self.rows] if self.has_head else self.rows, room)
        if self.has_head:
            for line in self._row(heads, widths):
                yield styled(line, "dim")
        for row in self.rows:
            yield from self._row(row, widths)

    def _widths(self, rows: Sequence[Sequence[str]], room: int) -> list[int]:
        """The widths of the widest cells; if they do not fit, the widest columns of words become narrower."""
        widths = [max(map(cell_width, cells)) for cells in zip(*rows, strict=True)] or [0] * len(self.heads)
        words = [i for i, head in enumerate(self.heads) if not head.startswith(">")]
        for i in words:
            widths[i] = min(widths[i], max(1, room))
        while sum(widths) + GAP * (len(widths) - 1) > room and any(widths[i] > 1 for i in words):
            widths[max(words, key=widths.__getitem__)] -= 1
        return widths

    def _row(self, cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
        wrapped = [wrap(cell, max(1, width)) for cell, width in zip(cells, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            yield (" " * GAP).join(map(self._padded, self.heads, parts, widths)).rstrip()

    def _padded(self, head: str, cell: str, width: int) -> str:
        space = " " * (width - cell_width(cell))
        return space + cell if head.startswith(">") else cell + space


def table(*heads: str, head: bool = True) -> TerminalTable:
    """A table with these headers and no rows yet; `head` is whether to show the headers."""
    return TerminalTable(heads, head)


def excerpt(columns: Mapping[str, Sequence[Any]], wide: int, indent: int) -> TerminalTable:
    """Rows of one line each; wide columns are cut to share the space that the narrow ones leave."""
    shown = {name: [one_line(value) for value in values] for name, values in columns.items()}
    longest = {name: max(map(cell_width, (name.lstrip(">"), *values))) for name, values in shown.items()}
    texts = [name for name in shown if longest[name] > NARROW]
    free = width(wide) - indent - sum(GAP + longest[name] for name in shown if name not in texts)
    share = max(LEAST, free // max(1, len(texts)) - GAP)
    result = table(*shown)
    for row in zip(*shown.values(), strict=True):
        cells = zip(shown, row, strict=True)
        result.add_row(*(shorten(cell, share) if name in texts else cell for name, cell in cells))
    return result


def printable(content: TerminalTable, wide: int = WIDE, indent: int = 0) -> None:
    """Print the table without trailing spaces."""
    for line in content.lines(width(wide) - indent):
        print(" " * indent + line)


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
    return text if cell_width(text) <= max(1, columns) else beginning(text, columns - 1) + "…"


def beginning(text: str, columns: int) -> str:
    """The first characters, which take at most this many columns."""
    taken = 0
    for i, character in enumerate(text):
        taken += cell_width(character)
        if taken > columns:
            return text[:i]
    return text


def wrap(text: str, columns: int) -> list[str]:
    """A text as lines of at most this many columns; words that are longer are cut, unless they have a style."""
    return wrap_words(text.split(" "), columns) if cell_width(text) > columns else [text]


def wrap_words(words: Iterable[str], columns: int) -> list[str]:
    """Words as lines of at most this many columns."""
    lines, taken = [""], 0
    for word in words:
        size = cell_width(word)
        if lines[-1] and taken + 1 + size > columns:
            lines.append("")
        if size > columns and not STYLED.search(word):
            *whole, word = pieces(word, columns)
            lines[-1:] = [*whole, ""]
            size = cell_width(word)
        lines[-1], taken = (f"{lines[-1]} {word}", taken + 1 + size) if lines[-1] else (word, size)
    return lines


def pieces(word: str, columns: int) -> Iterator[str]:
    """The parts of a word, of at most this many columns; a single character may be wider."""
    start = taken = 0
    for i, character in enumerate(word):
        size = cell_width(character)
        if taken + size > columns and i > start:
            yield word[start:i]
            start, taken = i, 0
        taken += size
    yield word[start:]


def cell_width(text: str) -> int:
    """Columns that a text takes on a terminal: two for wide characters, none for marks and styles."""
    text = STYLED.sub("", text) if "\x1b" in text else text
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0  # the last are vowels and finals of decomposed Korean, as in names of files on macOS
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width(wide: int = WIDE) -> int:
    """The terminal's width in columns, or `wide` if there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else wide


def one_line(value: Any) -> str:
    """Any value as a single line, without characters that control the terminal."""
    return CONTROLS.sub("\ufffd", " ".join(str(value).encode("utf-8", "replace").decode().split()))


def styled(text: str, style: str) -> str:
    """The text in a style, such as "bold green" or SGR codes, on a terminal that shows colours."""
    codes = ";".join(SGR.get(name, name) for name in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if text and shows_colours() else text


def shows_colours() -> bool:
    """Whether the output is a terminal, and neither NO_COLOR nor a dumb terminal forbids colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def background(red: int, green: int, blue: int) -> str:
    """The SGR codes of a background in this colour, or in the nearest of the 216 that most terminals have."""
    if os.environ.get("COLORTERM") in ("truecolor", "24bit"):
        return f"48;2;{red};{green};{blue}"
    r, g, b = (round(x / 51) for x in (red, green, blue))
    return f"48;5;{16 + 36 * r + 6 * g + b}"
