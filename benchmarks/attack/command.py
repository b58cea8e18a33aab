"""A command line, and whether what it prints is an answer, a refusal or neither."""

import contextlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

import likewise

from .attempt import expect
from .tables import HEAD, ROWS, text

IMPORTED_FROM = Path(likewise.__file__).parents[1]
"""The folder that has the copy of the library that is attacked: a checkout's src, or where a wheel was installed."""
GOOD_CODES = {0: "answered", 1: "refused", 2: "refused", 130: "refused"}
TINY_RUN = ("--max-steps", 1, "--batch-size", 4, "--threads", 1)


@dataclass(frozen=True)
class CommandOutput:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def cli(*arguments: object) -> CommandOutput:
    """A command in this process, its output kept."""
    from likewise.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as error:  # argparse's
            code = error.code if isinstance(error.code, int) else 1
    return CommandOutput(code, out.getvalue(), err.getvalue())


def outcome_of(output: CommandOutput) -> str:
    """Whether that was an answer or a refusal; a traceback or another code is neither."""
    expect("Traceback (most recent call last)" not in output.err, "traceback", output.err[-1500:])
    expect(output.code in GOOD_CODES, "crash", f"exit code {output.code}: {output.err[-500:]}")
    shown = output.err.strip() or output.out.strip()  # evaluate's report has the tasks that failed
    expect(output.code == 0 or shown, "wrong answer", f"exit code {output.code}, and nothing was printed")
    return GOOD_CODES[output.code]


def stsb() -> None:
    """A small file in the place of STS-B, which `evaluate` reads."""
    Path("data/stsb").mkdir(parents=True)
    rows = [(*row, "x") for row in ROWS]
    Path("data/stsb/test.csv").write_text(text(".csv", rows, (*HEAD, "genre")))
    os.environ["LIKEWISE_DATA"] = str(Path("data").absolute())
