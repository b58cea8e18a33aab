"""Processes whose streams are closed, full or broken, or whose locale is ASCII, must never print a traceback."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .attempt import Attempt, Setup, expect
from .command import GOOD_CODES, IMPORTED_FROM, TINY_RUN, CommandOutput, outcome_of, stsb, words
from .tables import N, text

STREAMED = {
    "encode": "encode given.txt -o v.npy -m @bert --json",
    "encode-stdin": "encode - -o v.npy -m @bert",
    "similarity": "similarity château 日本 👩 -m @bert",
    "models": "model list",
    "info": "model show @bert",
    "rerank": "rerank given.txt -m @cross-bert --query ü",
    "dissect": "model dissect @bert --texts given.txt",
    "mine": "data mine @bert given.csv --missing fill",
    "train": f"train @bert --data given.csv@cosent --dry-run {TINY_RUN}",
    "evaluate": "evaluate @bert --tasks stsb --no-cache",
    "data": "data show stsb",
    "refused": "model show no/such/model",
    "usage": "encode",
    "help": "train --help",
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
    env = {**os.environ, "PYTHONPATH": str(IMPORTED_FROM), **how.get("env", {})}
    output = _process(words(setup, STREAMED[verb]), how, env)
    for path in [*Path().glob("given.*"), Path("data/stsb/test.csv")]:
        path.unlink()
    shutil.rmtree("data")
    silent = how.get("broken") and output.code == 1  # as Python's documentation recommends for a broken pipe
    if silent or 2 in how.get("close", ()) or how.get("err"):
        return GOOD_CODES.get(output.code) or outcome_of(output)
    if verb == "encode" and output.code == 0:
        expect(Path("v.npy").exists() and len(np.load("v.npy")) == N, "lost rows", "v.npy is missing or too short")
    return outcome_of(output)


def _process(arguments: list[str], how: Mapping[str, Any], env: Mapping[str, str]) -> CommandOutput:
    """Run a separate process whose streams are closed, full or broken."""

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
    return CommandOutput(code, out, err)


def attempts(setup: Setup, step: int) -> Iterator[Attempt]:
    """Yield a quarter of all combinations of commands and streams."""
    for verb, stream in [(v, s) for v in STREAMED for s in STREAMS][:: 4 * step]:
        work = partial(_try_stream, setup, verb, stream)
        yield Attempt(f"commands/stream/{verb}/{stream}", work, ("v.npy", "v.npy.origin.json", "cache/*"))
