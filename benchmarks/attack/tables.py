"""Valid, broken and odd files of rows by suffix, each with its number of rows."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Table:
    """A file's bytes by suffix, and its number of rows; None: it must be refused; -1: it may be read or refused."""

    write: Callable[[Path], Any]
    rows: int | None = -1
    only: tuple[str, ...] = (".txt", ".csv", ".tsv", ".jsonl")


HEAD = ("sentence1", "sentence2", "score")
ROWS = [(f"a cat {i} sleeps", f"the dog {i} barks", i % 5 + i / 100) for i in range(40)]


def text(suffix: str, rows: Sequence[Sequence[Any]] = ROWS, head: Sequence[str] = HEAD) -> str:
    """Return a valid table; a .txt file contains only the first column."""
    if suffix == ".txt":
        return "".join(f"{row[0]}\n" for row in rows)
    if suffix == ".jsonl":
        return "".join(json.dumps(dict(zip(head, row, strict=True))) + "\n" for row in rows)
    mark = "\t" if suffix == ".tsv" else ","
    return "".join(mark.join(map(str, row)) + "\n" for row in [head, *rows])


def _of(
    change: Callable[[str, str], str | bytes],
    rows: int | None = -1,
    only: tuple[str, ...] = (".txt", ".csv", ".tsv", ".jsonl"),
) -> Table:
    """Return the valid file with a change, which is a function of its suffix and its text."""

    def write(path: Path) -> None:
        data = change(path.suffix, text(path.suffix))
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))

    return Table(write, rows, only)


def _cell(value: str) -> Callable[[str, str], str]:
    """Return a change that replaces the first cell of the eleventh row, without quoting."""
    return lambda _, good: "".join(line.replace("a cat 10 sleeps", value) for line in good.splitlines(keepends=True))


SEPARATED = (".csv", ".tsv")
N = len(ROWS)
FILES: Mapping[str, Table] = {
    "good": _of(lambda _, good: good, N),
    "empty": _of(lambda *_: "", 0),
    "only-head": _of(lambda _, good: good.splitlines(keepends=True)[0], 0, SEPARATED),
    "one-row": _of(lambda _, good: "".join(good.splitlines(keepends=True)[:2]), 1, SEPARATED),
    "no-last-newline": _of(lambda _, good: good.rstrip("\n"), N),
    "crlf": _of(lambda _, good: good.replace("\n", "\r\n"), N),
    "cr": _of(lambda _, good: good.replace("\n", "\r")),
    "bom": _of(lambda _, good: b"\xef\xbb\xbf" + good.encode(), N),
    "utf-16": _of(lambda _, good: good.encode("utf-16"), None),
    "utf-16-without-mark": _of(lambda _, good: good.encode("utf-16-le"), -1),
    "utf-32": _of(lambda _, good: good.encode("utf-32"), None),
    "latin-1": _of(lambda _, good: good.replace("cat", "chât").encode("latin-1"), None),
    "binary": _of(lambda *_: bytes(range(256)) * 40, None),
    "gzip": _of(lambda *_: b"\x1f\x8b\x08\0" + bytes(range(256)), None),
    "nul-bytes": _of(lambda *_: bytes(5000)),
    "nul-in-cell": _of(_cell("a \0 cat"), -1),
    "blank-lines": _of(lambda _, good: good.replace("\n", "\n\n"), -1),
    "blank-cell": _of(_cell("")),
    "space-cell": _of(_cell("   ")),
    "open-quote": _of(_cell('"a cat'), None, SEPARATED),
    "open-quote-last": _of(lambda _, good: good.replace("a cat 39", '"a cat 39'), None, SEPARATED),
    "open-quote-head": _of(lambda _, good: '"' + good, None, SEPARATED),
    "quote-inside": _of(_cell('a "cat" sleeps'), -1, SEPARATED),
    "quote-and-more": _of(_cell('"a cat" sleeps'), -1, SEPARATED),
    "quoted-newline": _of(_cell('"a cat\nsleeps"'), N, SEPARATED),
    "quoted-separator": _of(lambda _, good: good.replace("a cat 10 sleeps", '"a, cat\tsleeps"'), N, SEPARATED),
    "two-open-quotes": _of(
        lambda _, good: good.replace("a cat 10", '"a cat 10').replace("a cat 20", '"a cat 20'), None, SEPARATED
    ),
    "quotes-in-txt": _of(_cell('"a cat'), N, (".txt",)),
    "line-separators": _of(_cell("a\u2028cat\x85sleeps\x0bnow\x0c"), N),
    "ragged-short": _of(
        lambda _, good: good.replace("a cat 10 sleeps,", "").replace("a cat 10 sleeps\t", ""), None, SEPARATED
    ),
    "ragged-long": _of(lambda _, good: good.replace("the dog 10", "x,y\tz"), None, SEPARATED),
    "ragged-end": _of(lambda _, good: good + "a", None, SEPARATED),
    "huge-line": _of(_cell("cat " * 500_000), N),
    "huge-word": _of(_cell("x" * 2_000_000), N),
    "many-columns": _of(
        lambda s, _: text(s, [["a"] * 20_000] * 2, [f"c{i}" for i in range(20_000)]), -1, (".csv", ".jsonl")
    ),
    "other-columns": _of(lambda s, _: text(s, ROWS, ("x", "y", "z")), None, (".csv", ".tsv", ".jsonl")),
    "same-columns": _of(lambda s, _: text(s, ROWS, ("sentence1", "sentence1", "score")), None, SEPARATED),
    "no-names": _of(lambda s, _: text(s, ROWS, ("", "", "")), None, SEPARATED),
    "spaces-in-names": _of(lambda s, _: text(s, ROWS, (" sentence1 ", "sentence2 ", "score")), None, SEPARATED),
    "scores-words": _of(lambda s, _: text(s, [(a, b, "high") for a, b, _ in ROWS]), -1, (".csv", ".jsonl")),
    "scores-nan": _of(lambda s, _: text(s, [(a, b, float("nan")) for a, b, _ in ROWS]), -1, (".csv", ".jsonl")),
    "scores-huge": _of(lambda s, _: text(s, [(a, b, 1e308) for a, b, _ in ROWS]), -1, (".csv", ".jsonl")),
    "scores-equal": _of(lambda s, _: text(s, [(a, b, 1) for a, b, _ in ROWS]), -1, (".csv", ".jsonl")),
    "equal-rows": _of(lambda s, _: text(s, ROWS[:1] * 40), N),
    "json-half": _of(lambda _, good: good[: len(good) // 2 - 5], None, (".jsonl",)),
    "json-array": _of(lambda *_: json.dumps([dict(zip(HEAD, row, strict=True)) for row in ROWS]), None, (".jsonl",)),
    "json-null": _of(lambda _, good: good.replace('"a cat 10 sleeps"', "null"), None, (".jsonl",)),
    "json-number": _of(lambda _, good: good.replace('"a cat 10 sleeps"', "3"), None, (".jsonl",)),
    "json-list": _of(lambda _, good: good.replace('"a cat 10 sleeps"', '["a"]'), None, (".jsonl",)),
    "json-missing-key": _of(lambda _, good: good.replace('"sentence1": "a cat 10 sleeps", ', ""), None, (".jsonl",)),
    "json-double-key": _of(lambda _, good: good.replace('{"', '{"sentence1": "x", "'), -1, (".jsonl",)),
    "json-deep": _of(lambda *_: "[" * 100_000 + "\n", None, (".jsonl",)),
    "json-surrogate": _of(lambda _, good: good.replace("a cat 10", "\\ud800"), -1, (".jsonl",)),
    "json-numbers": _of(lambda *_: "1\n2\n", None, (".jsonl",)),
    "json-strings": _of(lambda *_: '"a"\n"b"\n', -1, (".jsonl",)),
    "json-digits": _of(lambda _, good: good.replace("0.0", "9" * 5000), -1, (".jsonl",)),
}  # fmt: skip

PLACES: Mapping[str, Callable[[Path], Any]] = {
    "missing": lambda _: None,
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "link-loop": lambda path: path.symlink_to(path.name),
    "zero-device": lambda path: path.symlink_to("/dev/zero"),
    "null-device": lambda path: path.symlink_to("/dev/null"),
    "unreadable": lambda path: [path.write_text(text(path.suffix)), path.chmod(0)],
    "memory": lambda path: path.symlink_to("/proc/self/mem"),
}


def _parquet(path: Path, **columns: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)


_PARQUETS: Mapping[str, tuple[Callable[[Path], Any], int | None]] = {
    "parquet": (lambda path: _parquet(path, **dict(zip(HEAD, zip(*ROWS, strict=True), strict=True))), N),
    "parquet-nulls": (lambda path: _parquet(path, sentence1=["a", None], sentence2=["b", "c"], score=[1.0, 2.0]), None),
    "parquet-numbers": (lambda path: _parquet(path, sentence1=[1, 2], sentence2=[3, 4], score=[1.0, 2.0]), None),
    "parquet-bytes": (lambda path: _parquet(path, sentence1=[b"a"], sentence2=[b"b"], score=[1.0]), None),
    "parquet-lists": (lambda path: _parquet(path, sentence1=[["a"]], sentence2=[["b"]], score=[1.0]), None),
    "parquet-empty": (lambda path: _parquet(path, sentence1=[], sentence2=[], score=[]), -1),
    "parquet-no-columns": (lambda path: _parquet(path), -1),
    "parquet-half": (lambda path: [_PARQUETS["parquet"][0](path), os.truncate(path, path.stat().st_size // 2)], None),
    "parquet-damaged": (lambda path: [_PARQUETS["parquet"][0](path), _damage(path)], -1),
    "parquet-text": (lambda path: path.write_text("a,b\n"), None),
    "parquet-zero": (lambda path: path.write_bytes(b""), None),
}
PARQUETS = {name: Table(write, rows, (".parquet",)) for name, (write, rows) in _PARQUETS.items()}


def _damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 3 + 40] = b"\xff" * 40
    path.write_bytes(data)
