"""The command line × broken files, odd outputs and closed streams.

Most run in a forked child of this process, which has imported everything, by likewise.cli's own `main`; those that
close streams or change the locale are real processes. Where the exit code is 0, as many rows come out as went in.
"""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .attempt import Attempt, Setup, expect

ROOT = Path(__file__).parents[2]
GOOD_CODES = {0: "answered", 1: "refused", 2: "refused", 130: "refused"}


@dataclass(frozen=True)
class Said:
    """What a command gave."""

    code: int
    out: str
    err: str


def cli(*arguments: object) -> Said:
    """A command in this process, its output kept."""
    from likewise.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as error:  # argparse's
            code = error.code if isinstance(error.code, int) else 1
    return Said(code, out.getvalue(), err.getvalue())


def judged(said: Said) -> str:
    """Whether that was an answer or a refusal; a traceback or another code is neither."""
    expect("Traceback (most recent call last)" not in said.err, "traceback", said.err[-1500:])
    expect(said.code in GOOD_CODES, "crash", f"exit code {said.code}: {said.err[-500:]}")
    expect(said.code == 0 or said.err.strip(), "wrong answer", f"exit code {said.code}, and nothing was said")
    return GOOD_CODES[said.code]


# files


@dataclass(frozen=True)
class Table:
    """Bytes of a file by its ending, and how many rows it has; None: it must be refused; -1: that is open."""

    write: Callable[[Path], Any]
    rows: int | None = -1
    only: tuple[str, ...] = (".txt", ".csv", ".tsv", ".jsonl")


HEAD = ("sentence1", "sentence2", "score")
ROWS = [(f"a cat {i} sleeps", f"the dog {i} barks", i % 5 + i / 100) for i in range(40)]


def text(suffix: str, rows: Sequence[Sequence[Any]] = ROWS, head: Sequence[str] = HEAD) -> str:
    """A well-formed table; a .txt has the first column alone."""
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
    """A file that is the good one, changed; `change` is given its ending and its text."""

    def write(path: Path) -> None:
        data = change(path.suffix, text(path.suffix))
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))

    return Table(write, rows, only)


def _cell(value: str) -> Callable[[str, str], str]:
    """The eleventh row has another first cell, written as it is."""
    return lambda suffix, good: "".join(
        line.replace("a cat 10 sleeps", value) for line in good.splitlines(keepends=True)
    )


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
    "quoted-separator": _of(lambda s, good: good.replace("a cat 10 sleeps", '"a, cat\tsleeps"'), N, SEPARATED),
    "two-open-quotes": _of(lambda _, good: good.replace("a cat 10", '"a cat 10').replace("a cat 20", '"a cat 20'), None, SEPARATED),
    "quotes-in-txt": _of(_cell('"a cat'), N, (".txt",)),
    "line-separators": _of(_cell("a\u2028cat\x85sleeps\x0bnow\x0c"), N),
    "ragged-short": _of(lambda s, good: good.replace("a cat 10 sleeps,", "").replace("a cat 10 sleeps\t", ""), None, SEPARATED),
    "ragged-long": _of(lambda s, good: good.replace("the dog 10", "x,y\tz"), None, SEPARATED),
    "ragged-end": _of(lambda s, good: good + "a", None, SEPARATED),
    "huge-line": _of(_cell("cat " * 500_000), N),
    "huge-word": _of(_cell("x" * 2_000_000), N),
    "many-columns": _of(lambda s, _: text(s, [["a"] * 20_000] * 2, [f"c{i}" for i in range(20_000)]), -1, (".csv", ".jsonl")),
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
    "missing": lambda path: None,
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


# verbs that read a file, and how many rows each says that it has read


@dataclass(frozen=True)
class Reading:
    """The command for a file, what it may write, and from what it said, rows; None where it does not say."""

    command: Callable[[Setup, Path], Sequence[object]]
    rows: Callable[[Said], int | None]
    endings: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    whole: bool = True  # whether every row of the table counts, blank ones too


def _vectors(_: Said) -> int:
    return len(np.load("v.npy"))


def _lines(path: str) -> Callable[[Said], int]:
    return lambda _: len(Path(path).read_bytes().splitlines())


ALL = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
TABLES = ALL[1:]
TINY_RUN = ("--steps", 1, "--batch", 4, "--threads", 1)

READINGS: Mapping[str, Reading] = {
    "encode": Reading(
        lambda s, f: ("encode", f, "-o", "v.npy", "-m", s.models / "bert", "-q", *_column(f)), _vectors, ALL, ("v.npy",)
    ),
    "encode-jsonl": Reading(
        lambda s, f: ("encode", f, "-o", "v.jsonl", "-m", s.models / "words", "--json", *_column(f)),
        lambda said: json.loads(said.out)["rows"], ALL, ("v.jsonl",),
    ),
    "rerank": Reading(
        lambda s, f: ("rerank", s.models / "cross-bert", f, "--query", "a cat", "--json", *_column(f)),
        lambda said: json.loads(said.out)["documents"], ALL,
    ),
    "mine": Reading(
        lambda s, f: ("mine", s.models / "bert", f, "-o", "m.jsonl", "--missing", "fill", "--json"),
        lambda said: json.loads(said.out)["rows"], TABLES, ("m.jsonl",), whole=False,
    ),
    "train-dry-run": Reading(
        lambda s, f: ("train", s.models / "bert", "--data", f"{f}@regression", "--columns", "score=score/5", "--dry-run",
                      "--json", *TINY_RUN),
        lambda said: sum(one["rows"] for one in json.loads(said.out)["data"]), TABLES, whole=False,
    ),
    "train": Reading(
        lambda s, f: ("train", s.models / "bert", "--data", f"{f}@cosent", "-o", "out", "--json", *TINY_RUN),
        lambda said: sum(one["rows"] for one in json.loads(said.out)["data"]), TABLES, ("out", "out/*"), whole=False,
    ),
    "fuse": Reading(
        lambda s, f: ("fuse", s.models / "bert", "--pairs", f, "-o", "out", "--json"),
        lambda said: json.loads(said.out)["examples"], TABLES, ("out", "out/*"), whole=False,
    ),
    "dissect": Reading(
        lambda s, f: ("dissect", s.models / "bert", "--texts", f, "--json"), lambda said: None, (".txt",), whole=False
    ),
    "leaks": Reading(
        lambda s, f: ("data", "--leaks", f, "--against", "other.csv", "--json"), lambda said: None, TABLES, whole=False
    ),
}  # fmt: skip


def _column(path: Path) -> tuple[object, ...]:
    return () if path.suffix == ".txt" else ("--column", "sentence1")


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Files, standard input, outputs, streams, models and odd command lines."""
    step = 7 if setup.quick else 1
    for verb, reading in READINGS.items():
        tries = [
            (suffix, name)
            for name, table in (FILES | PARQUETS).items()
            for suffix in table.only
            if suffix in reading.endings
        ] + [(suffix, name) for name in PLACES for suffix in reading.endings[::2]]
        for suffix, name in tries[::step]:
            work = partial(_try_file, setup, verb, suffix, name)
            yield Attempt(f"commands/{verb}/{name}{suffix}", work, (*reading.outputs, "cache/*"))
    for name in [n for n in FILES if ".txt" in FILES[n].only][::step]:
        for verb in ("encode", "similarity", "rerank"):
            yield Attempt(f"commands/{verb}-from-stdin/{name}", partial(_try_stdin, setup, verb, name), ("v.jsonl",))
    for name in list(OUTPUTS)[::step]:
        yield Attempt(f"commands/output/{name}", partial(_try_output, setup, name), OUTPUTS[name].outputs)
    for name in list(LINES)[::step]:
        yield Attempt(f"commands/line/{name}", partial(_try_line, setup, name), ("cache/*", "out*", "v.*"))
    for verb, stream in [(v, s) for v in STREAMED for s in STREAMS][:: 3 * step]:
        yield Attempt(
            f"commands/stream/{verb}/{stream}", partial(_try_stream, setup, verb, stream), ("v.npy", "cache/*")
        )


def _try_file(setup: Setup, verb: str, suffix: str, name: str) -> str:
    reading, path, table = READINGS[verb], Path(f"given{suffix}"), (FILES | PARQUETS).get(name)
    (table.write if table else PLACES[name])(path)
    Path("other.csv").write_text(text(".csv"))
    return _checked(setup, verb, reading, path, table)


def _checked(setup: Setup, verb: str, reading: Reading, path: Path, table: Table | None) -> str:
    said = cli(*reading.command(setup, path))
    outcome = judged(said)
    if outcome == "refused":
        made = [
            str(p)
            for p in Path().rglob("*")
            if p.name in ("v.npy", "v.jsonl", "m.jsonl") or str(p) == "out/config.json"
        ]
        expect(not made, "partial file", f"refused, and there is {', '.join(made)}")
        return outcome
    rows = reading.rows(said)
    refuse = table is None or (table.rows is None and (reading.whole or "columns" not in str(path)))
    expect(
        not (refuse and reading.whole and table is not None),
        "lost rows" if (rows or 0) < N else "wrong answer",
        f"{rows} rows of a file that must be refused",
    )
    if table is not None and table.rows is not None and table.rows >= 0 and rows is not None:
        expect(rows >= table.rows, "lost rows", f"{rows} rows of {table.rows}: {said.err[-300:]}")
        expect(rows == table.rows, "wrong answer", f"{rows} rows of {table.rows}")
    return outcome


STDIN: Mapping[str, Callable[[Setup], Sequence[object]]] = {
    "encode": lambda s: ("encode", "-", "-o", "v.jsonl", "-m", s.models / "bert", "--json"),
    "similarity": lambda s: ("similarity", "-", "--json", "-m", s.models / "bert"),
    "rerank": lambda s: ("rerank", s.models / "cross-bert", "-", "--query", "x", "--json"),
}


def _try_stdin(setup: Setup, verb: str, name: str) -> str:
    table = FILES[name]
    table.write(Path("given.txt"))
    sys.stdin = open("given.txt")  # noqa: PTH123, SIM115
    said = cli(*STDIN[verb](setup))
    outcome = judged(said)
    if outcome == "answered":
        told = json.loads(said.out)
        rows = {"encode": "rows", "rerank": "documents"}.get(verb)
        number = told[rows] if rows else len(told["matrix"])
        expect(
            table.rows is not None,
            "lost rows" if number < N else "wrong answer",
            f"{number} rows of what must be refused",
        )
        expect(table.rows in (-1, number), "lost rows", f"{number} rows of {table.rows}")
    return outcome


# outputs


@dataclass(frozen=True)
class Output:
    """A command whose output is odd; `ready` makes it so; `code`: the exit codes that are right."""

    command: Callable[[Setup], Sequence[object]]
    ready: Callable[[], Any] = lambda: None
    codes: tuple[int, ...] = (2,)
    outputs: tuple[str, ...] = ()


def _given(suffix: str) -> None:
    path = Path(f"given{suffix}")
    if suffix == ".parquet":
        _PARQUETS["parquet"][0](path)
    else:
        path.write_text(text(suffix))


def _linked(suffix: str, link: Callable[[Path, Path], Any]) -> None:
    _given(suffix)
    link(Path(f"link{suffix}"), Path(f"given{suffix}"))


def _locked() -> None:
    Path("locked").mkdir()
    Path("locked").chmod(0o500)


def _old(path: str) -> None:
    Path(path).write_bytes(b"old")
    Path(path).chmod(0o400)


def _pipe(path: str) -> None:
    os.mkfifo(path)
    threading.Thread(target=lambda: Path(path).read_bytes(), daemon=True).start()


def _symlink(link: Path, target: Path) -> None:
    link.symlink_to(target.name)


def _hardlink(link: Path, target: Path) -> None:
    link.hardlink_to(target)


WRITERS: Mapping[str, Callable[[Setup, str], Sequence[object]]] = {
    "encode": lambda s, out: ("encode", "given.txt", "-o", out, "-m", s.models / "bert"),
    "mine": lambda s, out: ("mine", s.models / "bert", "given.csv", "-o", out, "--missing", "fill"),
    "train": lambda s, out: ("train", s.models / "bert", "--data", "given.csv@cosent", "-o", out, *TINY_RUN),
    "fuse": lambda s, out: ("fuse", s.models / "bert", "--pairs", "given.csv", "-o", out),
    "dissect": lambda s, out: ("dissect", s.models / "bert", "--texts", "given.txt", "-o", out),
    "plot": lambda s, out: ("evaluate", s.models / "bert", "--tasks", "stsb", "--plot", out, "--resamples", "100"),
    "record": lambda s, out: (
        "train", s.models / "bert", "--data", "given.csv@cosent", "-o", "out", "--record", out, *TINY_RUN,
    ),
}  # fmt: skip
FOLDERS_OUT = ("train", "fuse", "dissect")


def _outputs() -> Iterator[tuple[str, Output]]:
    for suffix in (".parquet", ".jsonl"):
        encode = lambda s, out, suffix=suffix: (
            "encode",
            f"given{suffix}",
            "--column",
            "sentence1",
            "-o",
            out,
            "-m",
            s.models / "bert",
        )
        mine = lambda s, out, suffix=suffix: (
            "mine",
            s.models / "bert",
            f"given{suffix}",
            "-o",
            out,
            "--missing",
            "fill",
        )
        for verb, command in (("encode", encode), ("mine", mine)):
            for how, link in (("same", None), ("symlink", _symlink), ("hardlink", _hardlink)):
                out = f"{'link' if link else 'given'}{suffix}"
                ready = partial(_linked, suffix, link) if link else partial(_given, suffix)
                yield f"{verb}-{how}{suffix}", Output(partial(lambda c, o, s: c(s, o), command, out), ready)
            dotted = partial(lambda c, o, s: c(s, o), command, f"./x/../given{suffix}")
            yield f"{verb}-dots{suffix}", Output(dotted, lambda suffix=suffix: [_given(suffix), Path("x").mkdir()])
    ends = {"encode": ".npy", "mine": ".jsonl", "plot": ".png", "record": ".jsonl"}
    for verb, command in WRITERS.items():
        end = ends.get(verb, "")
        give = partial(lambda c, o, s: c(s, o), command)
        both = lambda: [_given(".txt"), _given(".csv"), stsb()]  # noqa: E731
        yield f"{verb}-unwritable-folder", Output(partial(give, f"locked/x{end}"), lambda: [both(), _locked()])
        yield f"{verb}-below-a-file", Output(partial(give, f"given.csv/x{end}"), both)
        yield f"{verb}-long-name", Output(partial(give, "x" * 300 + end), both)
        yield f"{verb}-missing-folder", Output(partial(give, f"new/deep/x{end}"), both, (0, 2), ("new*", "out*"))
        yield f"{verb}-empty", Output(partial(give, ""), both, (2,), ("out*",))
        if verb in FOLDERS_OUT:
            yield f"{verb}-a-file", Output(partial(give, "given.txt"), both)
            yield f"{verb}-null-device", Output(partial(give, "/dev/null"), both)
        else:
            yield (
                f"{verb}-a-folder",
                Output(partial(give, f"x{end}"), lambda end=end: [both(), Path(f"x{end}").mkdir()], (2,), ("out*",)),
            )
            yield (
                f"{verb}-pipe",
                Output(
                    partial(give, f"x{end}"), lambda end=end: [both(), _pipe(f"x{end}")], (0, 2), (f"x{end}", "out*")
                ),
            )
            yield (
                f"{verb}-link-to-full",
                Output(
                    partial(give, f"x{end}"),
                    lambda end=end: [both(), Path(f"x{end}").symlink_to("/dev/full")],
                    (0, 2),
                    ("out*", f"x{end}"),
                ),
            )
            yield f"{verb}-through-link", Output(
                partial(give, f"x{end}"), lambda end=end: [both(), Path(f"real{end}").write_bytes(b""), Path(f"x{end}").symlink_to(f"real{end}")],
                (0,), ("out*", "real*", "cache/*", f"x{end}"),
            )  # fmt: skip
    yield "encode-no-ending", Output(lambda s: WRITERS["encode"](s, "vectors"), lambda: _given(".txt"))
    yield (
        "encode-over-read-only",
        Output(lambda s: WRITERS["encode"](s, "v.npy"), lambda: [_given(".txt"), _old("v.npy")], (0, 2), ("v.npy",)),
    )


def stsb() -> None:
    """A small file in the place of STS-B, which `evaluate` reads."""
    Path("data/stsb").mkdir(parents=True)
    rows = [(*row, "x") for row in ROWS]
    Path("data/stsb/test.csv").write_text(text(".csv", rows, (*HEAD, "genre")))
    os.environ["LIKEWISE_DATA"] = str(Path("data").absolute())


OUTPUTS: Mapping[str, Output] = dict(_outputs())


def _try_output(setup: Setup, name: str) -> str:
    output = OUTPUTS[name]
    output.ready()
    links = {path: os.readlink(path) for path in Path().iterdir() if path.is_symlink()}
    kept = {path: path.read_bytes() for path in Path().glob("given.*")}
    said = cli(*output.command(setup))
    outcome = judged(said)
    for path, data in kept.items():
        expect(path.exists() and path.read_bytes() == data, "lost rows", f"{path} was changed; exit code {said.code}")
    for path, target in links.items():
        expect(path.is_symlink() and os.readlink(path) == target, "wrong answer", f"the link {path} was replaced")
    expect(
        said.code in output.codes, "wrong answer", f"exit code {said.code}; wanted {output.codes}: {said.err[-300:]}"
    )
    for path in [*Path().glob("given.*"), *Path().glob("real*"), *Path().glob("data/*/*")]:
        path.unlink()
    for folder in ("x", "x.npy", "x.jsonl", "x.png", "locked", "data"):
        shutil.rmtree(folder, ignore_errors=True)
    for path in (p for p in Path().iterdir() if p.is_symlink() or p.is_fifo()):
        path.unlink()
    return outcome


# odd command lines


LINES: Mapping[str, Callable[[Setup], Sequence[object]]] = {
    "nothing": lambda s: (),
    "unknown-verb": lambda s: ("destroy",),
    "help": lambda s: ("--help",),
    "version": lambda s: ("--version",),
    "models": lambda s: ("models", "--json"),
    "data": lambda s: ("data",),
    "data-unknown": lambda s: ("data", "no/such"),
    "data-leaks-unknown": lambda s: ("data", "--leaks", "no/such"),
    "tasks": lambda s: ("evaluate", "--list"),
    "evaluate-no-data": lambda s: ("evaluate", s.models / "bert", "--tasks", "stsb"),
    "evaluate-unknown-task": lambda s: ("evaluate", s.models / "bert", "--tasks", "nope,,stsb"),
    "evaluate-no-module": lambda s: ("evaluate", "no.such:thing", "--tasks", "stsb"),
    "evaluate-resamples": lambda s: ("evaluate", s.models / "bert", "--resamples", "-5"),
    "evaluate-many-resamples": lambda s: ("evaluate", s.models / "bert", "--resamples", str(10**15), "--tasks", "stsb"),
    "info-file": lambda s: ("info", "/etc/passwd"),
    "info-device": lambda s: ("info", "/dev/zero"),
    "info-nul": lambda s: ("info", "a\0b"),
    "info-long": lambda s: ("info", "x" * 300),
    "info-form": lambda s: ("info", "random(random(random(x"),
    "info-deep": lambda s: ("info", "random(" * 2000 + "x" + ")" * 2000),
    "info-surrogate": lambda s: ("info", "\udcff"),
    "info-prompts": lambda s: ("info", s.models / "prompts", "--json"),
    "info-every": lambda s: ("info", s.models / "bert", "--pooling", "mean+max", "--truncate", "3", "--max-length", "9"),
    "similarity-one": lambda s: ("similarity", "a", "-m", s.models / "bert"),
    "similarity-many": lambda s: ("similarity", *"abcdefghijklmnopqrstuvwxyz" * 2, "-m", s.models / "bert"),
    "similarity-surrogate": lambda s: ("similarity", "\udcff", "b", "-m", s.models / "bert"),
    "similarity-markup": lambda s: ("similarity", "[/bold]", "[red", "-m", s.models / "bert"),
    "similarity-empty": lambda s: ("similarity", "", "", "-m", s.models / "bert"),
    "similarity-reranker": lambda s: ("similarity", "a", "b", "-m", s.models / "poly"),
    "rerank-embedder": lambda s: ("rerank", s.models / "bert", "/etc/hosts", "--query", "x"),
    "threads-none": lambda s: ("info", s.models / "bert", "--threads", "0"),
    "threads-many": lambda s: ("info", s.models / "bert", "--threads", str(10**9)),
    "threads-huge": lambda s: ("info", s.models / "bert", "--threads", str(10**30)),
    "max-length-huge": lambda s: ("info", s.models / "bert", "--max-length", str(10**30)),
    "max-length-negative": lambda s: ("info", s.models / "bert", "--max-length", "-4"),
    "truncate-huge": lambda s: ("info", s.models / "bert", "--truncate", str(10**30)),
    "device-absent": lambda s: ("info", s.models / "bert", "--device", "cuda"),
    "device-unknown": lambda s: ("info", s.models / "bert", "--device", "toaster"),
    "device-meta": lambda s: ("similarity", "a", "b", "-m", s.models / "bert", "--device", "meta"),
    "pooling-unknown": lambda s: ("info", s.models / "bert", "--pooling", "nope"),
    "precision-half": lambda s: ("similarity", "a", "b", "-m", s.models / "bert", "--precision", "fp16"),
    "dissect-table": lambda s: ("dissect", s.models / "words"),
    "dissect-window": lambda s: ("dissect", s.models / "bert", "--window", "-3"),
    "train-no-data": lambda s: ("train", s.models / "bert", "-o", "out"),
    "train-toml-missing": lambda s: ("train", "no.toml"),
    "train-torn-objective": lambda s: ("train", s.models / "bert", "--data", "x.csv@contrastive:temperature=", "-o", "out"),
    "train-unknown-objective": lambda s: ("train", s.models / "bert", "--data", "x.csv@magic", "-o", "out"),
    "train-rate": lambda s: ("train", s.models / "bert", "--data", "x.csv@cosent", "-o", "out", "--rate", "nan"),
    "train-batch": lambda s: ("train", s.models / "bert", "--data", "x.csv@cosent", "-o", "out", "--batch", "-1"),
    "train-freeze": lambda s: ("train", s.models / "bert", "--data", "x.csv@cosent", "-o", "out", "--freeze", "blocks:9-1"),
    "fuse-depth": lambda s: ("fuse", s.models / "bert", "--pairs", "x.csv", "-o", "out", "--depth", "-1"),
    "fuse-teacher": lambda s: ("fuse", s.models / "bert", "--pairs", "x.csv", "-o", "out", "--teacher", "no/such"),
    "mine-rank": lambda s: ("mine", s.models / "bert", "x.csv", "--rank", "5", "1"),
    "mine-k": lambda s: ("mine", s.models / "bert", "x.csv", "-k", "0"),
    "mine-nan": lambda s: ("mine", s.models / "bert", "x.csv", "--margin", "nan"),
}  # fmt: skip


def _try_line(setup: Setup, name: str) -> str:
    Path("x.csv").write_text(text(".csv"))
    outcome = judged(cli(*LINES[name](setup)))
    Path("x.csv").unlink()
    return outcome


# streams, in real processes


STREAMED: Mapping[str, Callable[[Setup], Sequence[object]]] = {
    "encode": lambda s: ("encode", "given.txt", "-o", "v.npy", "-m", s.models / "bert", "--json"),
    "encode-stdin": lambda s: ("encode", "-", "-o", "v.npy", "-m", s.models / "bert"),
    "similarity": lambda s: ("similarity", "château", "日本", "👩", "-m", s.models / "bert"),
    "models": lambda s: ("models",),
    "info": lambda s: ("info", s.models / "bert"),
    "rerank": lambda s: ("rerank", s.models / "cross-bert", "given.txt", "--query", "ü"),
    "dissect": lambda s: ("dissect", s.models / "bert", "--texts", "given.txt"),
    "mine": lambda s: ("mine", s.models / "bert", "given.csv", "--missing", "fill"),
    "train": lambda s: ("train", s.models / "bert", "--data", "given.csv@cosent", "--dry-run", *TINY_RUN),
    "evaluate": lambda s: ("evaluate", s.models / "bert", "--tasks", "stsb", "--resamples", "100", "--no-cache"),
    "data": lambda s: ("data", "stsb"),
    "refused": lambda s: ("info", "no/such/model"),
    "usage": lambda s: ("encode",),
    "help": lambda s: ("train", "--help"),
}
ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
STREAMS: Mapping[str, Mapping[str, Any]] = {
    "stdin-closed": {"close": (0,)},
    "stdout-closed": {"close": (1,)},
    "stderr-closed": {"close": (2,)},
    "all-closed": {"close": (0, 1, 2)},
    "stdout-full": {"out": "/dev/full"},
    "stderr-full": {"err": "/dev/full"},
    "stdout-broken": {"broken": True},
    "ascii": {"env": ASCII},
    "ascii-errors": {"env": {**ASCII, "PYTHONIOENCODING": "ascii:strict"}},
    "latin-1": {"env": {"PYTHONIOENCODING": "latin-1"}},
    "no-home": {"env": {"HOME": "/nonexistent", "LIKEWISE_CACHE": ""}},
    "cache-a-file": {"env": {"LIKEWISE_CACHE": "/etc/passwd"}},
    "no-terminal-width": {"env": {"COLUMNS": "1", "TERM": "dumb"}},
}


def _try_stream(setup: Setup, verb: str, stream: str) -> str:
    for suffix in (".txt", ".csv"):
        Path(f"given{suffix}").write_text(text(suffix).replace("sleeps", "schläft 漢"), "utf-8")
    stsb()
    how = STREAMS[stream]
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", **how.get("env", {})}
    said = _process([str(part) for part in STREAMED[verb](setup)], how, env)
    for path in [*Path().glob("given.*"), Path("data/stsb/test.csv")]:
        path.unlink()
    shutil.rmtree("data")
    if 2 in how.get("close", ()) or how.get("err"):
        return GOOD_CODES.get(said.code) or judged(said)
    if verb == "encode" and said.code == 0:
        expect(Path("v.npy").exists() and len(np.load("v.npy")) == N, "lost rows", "v.npy is not there, or short")
    return judged(said)


def _process(arguments: list[str], how: Mapping[str, Any], env: Mapping[str, str]) -> Said:
    """A real process with streams closed, full or broken."""

    def close() -> None:
        for number in how.get("close", ()):
            os.close(number)

    with contextlib.ExitStack() as stack:
        given = stack.enter_context(open("given.txt", "rb"))  # noqa: PTH123
        kept = [stack.enter_context(open(Path("tmp") / name, "w+b")) for name in ("out", "err")]  # noqa: PTH123
        ends = [
            stack.enter_context(open(how[name], "wb")) if name in how else file  # noqa: PTH123
            for name, file in zip(("out", "err"), kept, strict=True)
        ]
        if how.get("broken"):
            reading, writing = os.pipe()
            os.close(reading)
            ends[0] = stack.enter_context(open(writing, "wb"))  # noqa: PTH123
        code = subprocess.run(
            [sys.executable, "-m", "likewise", *arguments],
            stdin=given, stdout=ends[0], stderr=ends[1], preexec_fn=close, env=dict(env), check=False,
        ).returncode  # fmt: skip
    out, err = ((Path("tmp") / name).read_text("utf-8", "replace") for name in ("out", "err"))
    shutil.rmtree("tmp")
    Path("tmp").mkdir()
    return Said(code, out, err)
