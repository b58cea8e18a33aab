"""A command line, and whether what it says is an answer, a refusal or neither."""

import contextlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

import likewise

from .attempt import expect
from .tables import HEAD, ROWS, text

ROOT = Path(likewise.__file__).parents[2]
"""Of the copy of the library that is attacked."""
GOOD_CODES = {0: "answered", 1: "refused", 2: "refused", 130: "refused"}
TINY_RUN = ("--max-steps", 1, "--batch-size", 4, "--threads", 1)


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
    told = said.err.strip() or said.out.strip()  # evaluate's report has the tasks that failed
    expect(said.code == 0 or told, "wrong answer", f"exit code {said.code}, and nothing was said")
    return GOOD_CODES[said.code]


def stsb() -> None:
    """A small file in the place of STS-B, which `evaluate` reads."""
    Path("data/stsb").mkdir(parents=True)
    rows = [(*row, "x") for row in ROWS]
    Path("data/stsb/test.csv").write_text(text(".csv", rows, (*HEAD, "genre")))
    os.environ["LIKEWISE_DATA"] = str(Path("data").absolute())
