"""Texts for a verb: FILE and --column, - for standard input, and whole rows for verbs that write them back."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...runtime.atomic_files import atomic_file
from ...wording import counted

STDIN = "-"
FORMATS = """Texts are read from .txt (one per line), .csv, .tsv or .jsonl files, which may be compressed (.gz, .zst),
or from .parquet files. Parquet needs the extra parquet, and .zst the extra zstd. Without --column, the texts are read
from the file's only column, or from the only column with a usual name: text, sentence, question, …"""


def add_file(add: Callable[..., None]) -> None:
    """Add FILE and --column."""
    add("FILE", "file of texts: .txt, .csv, .tsv, .jsonl or .parquet; - reads standard input")
    add("--column NAME", "column that contains the texts, if there are several")


def check_column(args: Namespace) -> None:
    """Reject --column if --texts, the file that it refers to, is not given."""
    if args.column is not None and args.texts is None:
        raise BadInput(f"--column {args.column} requires --texts FILE, which was not given")


def read_texts(file: str, column: str | None) -> Iterable[str]:
    """The texts in a file, or the lines of standard input; texts in a file can be counted and read again."""
    from ...files import Texts
    from ...files.read import standard_input

    if file != STDIN:
        return Texts(Path(file), column)
    if column is not None:
        raise BadInput(f"standard input has lines but no columns, so --column {column} does not apply")
    return standard_input()


def given_texts(words: Sequence[str], file: str | None = None) -> list[str]:
    """The texts given as arguments, with the lines of standard input in place of -; `file` is the FILE, if any."""
    check_stdin(*words, file)
    return [text for word in words for text in (read_texts(STDIN, None) if word == STDIN else [word])]


def given_text(word: str, what: str, file: str | None = None) -> str:
    """The text given as an argument, or read from standard input if it is -; `what` names it in errors."""
    texts = given_texts([word], file)
    if len(texts) != 1:
        raise BadInput(f"expected one {what}; got {counted(len(texts), 'line')} from standard input")
    return texts[0]


@dataclass(frozen=True)
class TextRows:
    """All rows of a file: every column by name, and the name of the text column."""

    columns: dict[str, list[Any]]
    text_column: str

    @property
    def texts(self) -> list[str]:
        return self.columns[self.text_column]

    def select(self, rows: Iterable[int]) -> dict[str, list[Any]]:
        numbers = list(rows)
        return {name: [values[i] for i in numbers] for name, values in self.columns.items()}


def check_stdin(*files: str | None) -> None:
    if files.count(STDIN) > 1:
        raise BadInput(f"standard input ({STDIN}) can be read only once; expected it in one place")


def read_text_rows(file: str, column: str | None) -> TextRows:
    """Read every column of a file, including the texts; standard input has a single column, text."""
    from ...files import Table
    from ...files.read import column_of_texts

    texts = list(read_texts(file, column))  # first, because this checks that every value is a text
    if file == STDIN:
        return TextRows({"text": texts}, "text")
    path = Path(file)
    return TextRows(Table.read(path, list).columns, column_of_texts(path, column))


def write_rows(path: Path, columns: Mapping[str, Sequence[Any]], text_column: str) -> None:
    """Write the columns; a .txt file gets only the texts, one per line."""
    from ...files import write_table
    from ...files.lines import is_utf8
    from ...files.write import not_utf8

    if path.suffix.lower() != ".txt":
        write_table(path, columns)
        return
    texts = columns[text_column]
    broken = next((text for text in texts if "\n" in text or text.endswith("\r")), None)  # what ends a line when read
    if broken is not None:
        shown = f"{broken[:40]!r} has a line break"
        raise BadInput(f"{path} would have one text per line, but {shown}; write .csv or .jsonl")
    bad = next((text for text in texts if not is_utf8(text)), None)
    if bad is not None:
        raise not_utf8(path, bad)
    with atomic_file(path) as partial:
        partial.write_text("".join(f"{text}\n" for text in texts), "utf-8")
