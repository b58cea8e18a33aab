"""Runs a command line, and decides whether its output is a result, an error message or neither."""

import contextlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import likewise

from .attempt import Setup, expect
from .tables import HEAD, ROWS, text

IMPORTED_FROM = Path(likewise.__file__).parents[1]
"""The folder of the library under attack: src in a checkout, or the folder where a wheel is installed."""
GOOD_CODES = {0: "answered", 1: "refused", 2: "refused", 130: "refused"}
TINY_RUN = "--max-steps 1 --batch-size 4 --threads 1"


@dataclass(frozen=True)
class CommandOutput:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def words(setup: Setup, line: str | Sequence[str]) -> list[str]:
    """Return the words of a command line, in which @bert stands for the folder of the tiny model bert."""
    given = line.split() if isinstance(line, str) else line
    return [str(setup.models / word[1:]) if word.startswith("@") else word for word in given]


def cli(*arguments: object) -> CommandOutput:
    """Run a command in this process and capture its output."""
    from likewise.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as error:  # argparse's
            code = error.code if isinstance(error.code, int) else 1
    return CommandOutput(code, out.getvalue(), err.getvalue())


def outcome_of(output: CommandOutput) -> str:
    """Whether the output is a result or an error message; fail on a traceback or another exit code."""
    expect("Traceback (most recent call last)" not in output.err, "traceback", output.err[-1500:])
    expect(output.code in GOOD_CODES, "crash", f"exit code {output.code}: {output.err[-500:]}")
    shown = output.err.strip() or output.out.strip()  # the report of `evaluate` lists the tasks that failed
    expect(output.code == 0 or shown, "wrong answer", f"exit code {output.code}, and nothing was printed")
    return GOOD_CODES[output.code]


def stsb() -> None:
    """Write a small file in place of STS-B, which `evaluate` reads."""
    Path("data/stsb").mkdir(parents=True)
    rows = [(*row, "x") for row in ROWS]
    Path("data/stsb/test.csv").write_text(text(".csv", rows, (*HEAD, "genre")))
    os.environ["LIKEWISE_DATA"] = str(Path("data").absolute())
