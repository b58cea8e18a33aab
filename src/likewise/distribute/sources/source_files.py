"""Source files: read and check their rows from any offset, and detect changes to the files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import BadInput
from ...files.line_formats import LINE_FORMATS, distinct_columns, json_objects
from ...files.lines import BEGINNING, LinePlace, data_ending, is_utf8, open_lines, refuse_row
from ...files.read import choose_text_column, parquet_rows

Values = Mapping[str, Any]
Reject = Callable[[str], None]
NamedRow = tuple[str, LinePlace, Values]
"""The location of a row ("line 3"), the position after it, and its values by column name."""


@dataclass(frozen=True)
class ChosenColumns:
    """Which source columns to use; without `text`, the usual text column; without `id`, row numbers become ids."""

    text: str | None = None
    id: str | None = None
    keep: tuple[str, ...] | None = None
    """Which other columns to carry over to the output; None means all."""

    def keeps(self, name: str) -> bool:
        return self.keep is None or name in self.keep


@dataclass(frozen=True)
class SourceFile:
    """The state of a file when it was first read: its name, size in bytes, modification time (ns) and text column."""

    path: str
    bytes: int
    modified: int
    text: str = ""
    rows: int = 0

    @classmethod
    def at(cls, path: Path) -> "SourceFile":
        state = path.stat()
        return cls(str(path), state.st_size, state.st_mtime_ns)

    def check_unchanged(self) -> None:
        """Raise an error if the file has changed since it was first read."""
        try:
            now = SourceFile.at(Path(self.path))
        except OSError as error:
            raise BadInput(f"{self.path} cannot be read again: {error.strerror}") from None
        if (now.bytes, now.modified) != (self.bytes, self.modified):
            raise BadInput(
                f"{self.path} has changed since it was first read: its size or modification time differs "
                f"({self.bytes:,} bytes then, {now.bytes:,} now); --fresh starts over with the current file"
            )


class TextRow(NamedTuple):
    """A row with a text: the offset after the row, its id, its text, the text column, and all its values."""

    after: LinePlace
    id: str
    text: str
    column: str
    values: Values


def text_rows(
    path: Path, columns: ChosenColumns, text: str = "", start: LinePlace = BEGINNING, reject: Reject = refuse_row
) -> Iterator[TextRow]:
    """Yield the rows that have a text, starting at an offset; problems with other rows are passed to `reject`.

    Args:
        text: the file's text column; if empty, `columns` chooses it from the names in the first row.
        reject: raises an error, or returns to skip the row.
    """
    text = "text" if data_ending(path) == ".txt" else text or columns.text or ""
    used = None if columns.keep is None or not text else (text, columns.id, *columns.keep)
    for place, after, values in _named_rows(path, start, reject, used):
        text = text or choose_text_column(list(values), None, path)
        problem = row_problem(values, text, columns.id)
        if problem is not None:
            reject(f"{path}, {place}: {problem}")
            continue
        line = after.line - (data_ending(path) == ".parquet")  # the ids of Parquet rows have always counted from 0
        name = f"{path}:{line}" if columns.id is None else str(values[columns.id])
        yield TextRow(after, name, values[text], text, values)


def row_problem(values: Values, text: str, id_column: str | None) -> str | None:
    """What is wrong with a row, phrased as the end of a message; None if the row is valid."""
    for column, use in ((text, ""), (id_column, " for ids")):
        if column is not None and column not in values:
            return f"there is no column {column!r}{use}; found {', '.join(values) or 'no columns'}"
    found = values[text]
    if found is None:
        return f"the text in column {text!r} is null"
    if not isinstance(found, str):
        return f"expected a text in column {text!r}, found {str(found)[:40]!r} ({type(found).__name__})"
    name = "" if id_column is None else values[id_column]
    if id_column is not None and (isinstance(name, bool) or not isinstance(name, str | int) or name == ""):
        return f"the id in column {id_column!r} is {name!r:.60}; expected a text or a whole number"
    for key, value in values.items():
        if isinstance(value, str) and not value.isascii() and not is_utf8(value):
            return f"the column {key!r} contains half of a surrogate pair, which is not valid text"
    return None


def _named_rows(path: Path, start: LinePlace, reject: Reject, used: Sequence[str | None] | None) -> Iterator[NamedRow]:
    ending, names = data_ending(path), list[str]()

    def choose(found: Sequence[str]) -> Sequence[str]:
        names[:] = [name for name in found if used is None or name in used or ending != ".parquet"]
        return names

    if ending == ".parquet":
        rows = parquet_rows(path, distinct_columns(path, choose), start.line)
        for line, (place, values) in enumerate(rows, start.line + 1):
            yield place, LinePlace(0, line), dict(zip(names, values, strict=True))
        return
    with open_lines(path, start, reject) as lines:
        if ending == ".jsonl":
            lines.skip()
            for place, row in json_objects(lines):
                yield place, lines.place, row
            return
        for place, values in LINE_FORMATS[ending](lines, distinct_columns(path, choose)):
            yield place, lines.place, dict(zip(names, values, strict=True))
