"""The command line × broken files, odd outputs and closed streams (`tables`, `outputs`, `lines`, `streams`).

Most commands call likewise.cli's `main` in a fork of this process, which has imported everything; those that close
streams or change the locale are separate processes. If the exit code is 0, there are as many output rows as input rows.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from . import lines, outputs, streams
from .attempt import Attempt, Setup, expect
from .command import TINY_RUN, CommandOutput, cli, outcome_of
from .tables import FILES, PARQUETS, PLACES, N, Table, text


@dataclass(frozen=True)
class Reading:
    """The command for a file, what it may write, and the number of rows according to its output, or None."""

    command: Callable[[Setup, Path], Sequence[object]]
    rows: Callable[[CommandOutput], int | None]
    endings: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    whole: bool = True  # whether blank rows of the table count too


def _vectors(_: CommandOutput) -> int:
    return len(np.load("v.npy"))


def _lines(path: str) -> Callable[[CommandOutput], int]:
    return lambda _: len(Path(path).read_bytes().splitlines())


GIVEN = ("given.*", "given.*/*", "other.csv", "cache", "cache/*")
ALL = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
TABLES = ALL[1:]

READINGS: Mapping[str, Reading] = {
    "encode": Reading(
        lambda s, f: ("encode", f, "-o", "v.npy", "-m", s.models / "bert", "-q", *_column(f)), _vectors, ALL,
        ("v.npy", "v.npy.origin.json")
    ),
    "encode-jsonl": Reading(
        lambda s, f: ("encode", f, "-o", "v.jsonl", "-m", s.models / "words", "--json", *_column(f)),
        lambda said: json.loads(said.out)["rows"], ALL, ("v.jsonl", "v.jsonl.origin.json"),
    ),
    "rerank": Reading(
        lambda s, f: ("rerank", f, "-m", s.models / "cross-bert", "--query", "a cat", "--json", *_column(f)),
        lambda said: json.loads(said.out)["documents"], ALL,
    ),
    "pairs": Reading(
        lambda s, f: ("pairs", f, "-o", "p.csv", "-m", s.models / "words", "--json", *_column(f)),
        lambda said: json.loads(said.out)["texts"], ALL, ("p.csv",),
    ),
    "duplicates": Reading(
        lambda s, f: ("duplicates", f, "-o", f"d{f.suffix}", "-m", s.models / "words", "--json", *_column(f)),
        lambda said: json.loads(said.out)["texts"], ALL, ("d.*",),
    ),
    "cluster": Reading(
        lambda s, f: ("cluster", f, "-k", "2", "-o", "c.csv", "-m", s.models / "words", "--json", *_column(f)),
        lambda said: json.loads(said.out)["texts"], ALL, ("c.csv",),
    ),
    "index-add": Reading(
        lambda s, f: ("index", "add", "x.index", f, "-m", s.models / "words", "--json", *_column(f)),
        lambda said: json.loads(said.out)["documents"], TABLES, ("x.index", "x.index/*"),
    ),
    "mine": Reading(
        lambda s, f: ("data", "mine", s.models / "bert", f, "-o", "m.jsonl", "--missing", "fill", "--json"),
        lambda said: json.loads(said.out)["rows"], TABLES, ("m.jsonl",), whole=False,
    ),
    "train-dry-run": Reading(
        lambda s, f: ("train", s.models / "bert", "--data", f"{f}@regression", "--columns", "score=score/5",
                      "--dry-run",
                      "--json", *TINY_RUN),
        lambda said: sum(one["rows"] for one in json.loads(said.out)["data"]), TABLES, whole=False,
    ),
    "train": Reading(
        lambda s, f: ("train", s.models / "bert", "--data", f"{f}@cosent", "-o", "out", "--json", *TINY_RUN),
        lambda said: sum(one["rows"] for one in json.loads(said.out)["data"]), TABLES, ("out", "out/*"), whole=False,
    ),
    "fuse": Reading(
        lambda s, f: ("model", "fuse", s.models / "bert", "--pairs", f, "-o", "out", "--json"),
        lambda said: json.loads(said.out)["examples"], TABLES, ("out", "out/*"), whole=False,
    ),
    "dissect": Reading(
        lambda s, f: ("model", "dissect", s.models / "bert", "--texts", f, "--json"),
        lambda _: None,
        (".txt",),
        whole=False,
    ),
    "leaks": Reading(
        lambda _, f: ("data", "leaks", f, "--against", "other.csv", "--json"), lambda _: None, TABLES, whole=False
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
            yield Attempt(f"commands/{verb}/{name}{suffix}", work, (*reading.outputs, *GIVEN))
    for name in [n for n in FILES if ".txt" in FILES[n].only][::step]:
        for verb in ("encode", "similarity", "rerank"):
            yield Attempt(
                f"commands/{verb}-from-stdin/{name}",
                partial(_try_stdin, setup, verb, name),
                ("v.jsonl", "v.jsonl.origin.json", *GIVEN),
            )
    yield from outputs.attempts(setup, step)
    yield from lines.attempts(setup, step)
    yield from streams.attempts(setup, step)


def _try_file(setup: Setup, verb: str, suffix: str, name: str) -> str:
    reading, path, table = READINGS[verb], Path(f"given{suffix}"), (FILES | PARQUETS).get(name)
    (table.write if table else PLACES[name])(path)
    Path("other.csv").write_text(text(".csv"))
    return _checked(setup, reading, path, table)


def _checked(setup: Setup, reading: Reading, path: Path, table: Table | None) -> str:
    output = cli(*reading.command(setup, path))
    outcome = outcome_of(output)
    if outcome == "refused":
        built = [
            str(p)
            for p in Path().rglob("*")
            if p.name in ("v.npy", "v.jsonl", "m.jsonl", "p.csv", "c.csv") or str(p) == "out/config.json"
        ]
        expect(not built, "partial file", f"refused, but it wrote {', '.join(built)}")
        return outcome
    rows = reading.rows(output)
    refuse = table is None or (table.rows is None and (reading.whole or "columns" not in str(path)))
    expect(
        not (refuse and reading.whole and table is not None),
        "lost rows" if (rows or 0) < N else "wrong answer",
        f"{rows} rows from a file that must be refused",
    )
    if table is not None and table.rows is not None and table.rows >= 0 and rows is not None:
        expect(rows >= table.rows, "lost rows", f"{rows} rows of {table.rows}: {output.err[-300:]}")
        expect(rows == table.rows, "wrong answer", f"{rows} rows of {table.rows}")
    return outcome


STDIN: Mapping[str, Callable[[Setup], Sequence[object]]] = {
    "encode": lambda s: ("encode", "-", "-o", "v.jsonl", "-m", s.models / "bert", "--json"),
    "similarity": lambda s: ("similarity", "-", "--json", "-m", s.models / "bert"),
    "rerank": lambda s: ("rerank", "-", "-m", s.models / "cross-bert", "--query", "x", "--json"),
}


def _try_stdin(setup: Setup, verb: str, name: str) -> str:
    table = FILES[name]
    table.write(Path("given.txt"))
    sys.stdin = open("given.txt")  # noqa: PTH123, SIM115
    output = cli(*STDIN[verb](setup))
    outcome = outcome_of(output)
    if outcome == "answered":
        records = json.loads(output.out)
        rows = {"encode": "rows", "rerank": "documents"}.get(verb)
        number = records[rows] if rows else len(records["matrix"])
        expect(
            table.rows is not None,
            "lost rows" if number < N else "wrong answer",
            f"{number} rows from input that must be refused",
        )
        expect(table.rows in (-1, number), "lost rows", f"{number} rows of {table.rows}")
    return outcome
