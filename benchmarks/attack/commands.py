"""Every command with broken files, odd outputs and closed streams (`tables`, `outputs`, `lines`, `streams`).

Most commands call likewise.cli's `main` in a fork of this process, which has imported everything; commands with closed
streams or another locale run as separate processes. If the exit code is 0, there must be as many output rows as input
rows.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from . import lines, outputs, streams
from .attempt import Attempt, Setup, expect
from .command import TINY_RUN, CommandOutput, cli, outcome_of, words
from .tables import FILES, PARQUETS, PLACES, N, Table, text


@dataclass(frozen=True)
class Reading:
    """A command that reads a {file}, the files that it may write, and the number of rows according to its output.

    `rows` is a key of its JSON output. If blank rows of a table count too (`whole`), the command reads one {column}.
    """

    command: str
    endings: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    rows: str | Callable[[CommandOutput], int | None] = "texts"
    whole: bool = True

    def counted(self, output: CommandOutput) -> int | None:
        return self.rows(output) if callable(self.rows) else json.loads(output.out)[self.rows]


def _trained(said: CommandOutput) -> int:
    return sum(one["rows"] for one in json.loads(said.out)["data"])


GIVEN = ("given.*", "given.*/*", "other.csv", "cache", "cache/*")
ALL = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")
TABLES = ALL[1:]
OUT = ("out", "out/*")
TRAIN = f"train @bert {TINY_RUN} --json --data {{file}}@"

READINGS: Mapping[str, Reading] = {
    "encode": Reading("encode {file} -o v.npy -m @bert -q", ALL, ("v.npy", "v.npy.origin.json"),
                      lambda _: len(np.load("v.npy"))),
    "encode-jsonl": Reading("encode {file} -o v.jsonl -m @words --json", ALL, ("v.jsonl", "v.jsonl.origin.json"),
                            "rows"),
    "rerank": Reading("rerank {file} -m @cross-bert --query cat --json", ALL, rows="documents"),
    "pairs": Reading("pairs {file} -o p.csv -m @words --json", ALL, ("p.csv",)),
    "duplicates": Reading("duplicates {file} -o d{suffix} -m @words --json", ALL, ("d.*",)),
    "cluster": Reading("cluster {file} -k 2 -o c.csv -m @words --json", ALL, ("c.csv",)),
    "index-add": Reading("index add x.index {file} -m @words --json", TABLES, ("x.index", "x.index/*"), "documents"),
    "mine": Reading("data mine @bert {file} -o m.jsonl --missing fill --json", TABLES, ("m.jsonl",), "rows", False),
    "train-dry-run": Reading(f"{TRAIN}regression --columns score=score/5 --dry-run", TABLES, (), _trained, False),
    "train": Reading(f"{TRAIN}cosent -o out", TABLES, OUT, _trained, False),
    "fuse": Reading("model fuse @bert --pairs {file} -o out --json", TABLES, OUT, "examples", False),
    "dissect": Reading("model dissect @bert --texts {file} --json", (".txt",), (), lambda _: None, False),
    "leaks": Reading("data leaks {file} --against other.csv --json", TABLES, (), lambda _: None, False),
}  # fmt: skip


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Yield attempts with odd files, standard input, outputs, streams, models and command lines."""
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
        for verb in STDIN:
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
    column = " --column sentence1" if reading.whole and path.suffix != ".txt" else ""
    output = cli(*words(setup, reading.command.format(file=path, suffix=path.suffix) + column))
    outcome = outcome_of(output)
    if outcome == "refused":
        built = [
            str(p)
            for p in Path().rglob("*")
            if p.name in ("v.npy", "v.jsonl", "m.jsonl", "p.csv", "c.csv") or str(p) == "out/config.json"
        ]
        expect(not built, "partial file", f"the command was refused, but wrote {', '.join(built)}")
        return outcome
    rows = reading.counted(output)
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


STDIN = {
    "encode": "encode - -o v.jsonl -m @bert --json",
    "similarity": "similarity - --json -m @bert",
    "rerank": "rerank - -m @cross-bert --query x --json",
}


def _try_stdin(setup: Setup, verb: str, name: str) -> str:
    table = FILES[name]
    table.write(Path("given.txt"))
    sys.stdin = open("given.txt")  # noqa: PTH123, SIM115
    output = cli(*words(setup, STDIN[verb]))
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
