"""`likewise VERB …`: finds the verb, runs it, and turns errors into one line."""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from .. import __version__
from ..errors import LikewiseError
from .model_options import restore_threads, set_numpy_threads
from .process import Stop, prepared, silence

VERBS = {
    "encode": "encode",
    "similarity": "similarity",
    "models": "models.list_models",
    "info": "models.info",
    "download": "models.download",
    "rerank": "rerank",
    "dissect": "models.dissect",
    "fuse": "models.fuse",
    "mine": "mine",
    "train": "train.command",
    "evaluate": "evaluate",
    "data": "data.command",
}
"""Each verb, and the module in this folder that adds it."""

TRACEBACK = "LIKEWISE_TRACEBACK"
"""Set to anything, it shows the traceback of every error."""
USER, UNFORESEEN = 2, 70  # exit codes; 70 is EX_SOFTWARE of sysexits.h
LONGEST = 300  # characters of an unforeseen error's message

EXAMPLES = """examples:
  likewise similarity "A cat sleeps." "A kitten naps." "Shares fell."
  likewise encode sentences.txt -o vectors.npy
  likewise encode reviews.csv --column body -o vectors.parquet --overflow mean
  cat lines | likewise encode - -o vectors.jsonl
  likewise info all-MiniLM-L6-v2

Each verb tells more: likewise encode --help
Every error is one line; LIKEWISE_TRACEBACK=1 shows where it was raised."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Room enough for the longest verb before its description."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)
        self._action_max_length = 18


def parser() -> argparse.ArgumentParser:
    """All verbs and their options."""
    top = argparse.ArgumentParser(
        prog="likewise",
        description="Sentence embeddings, made, compared and understood.",
        epilog=EXAMPLES,
        formatter_class=_Help,
    )
    top.add_argument("--version", action="version", version=f"likewise {__version__}")
    verbs = top.add_subparsers(title="verbs", metavar="VERB", required=True)
    for module in VERBS.values():
        import_module(f".{module}", __package__).add(verbs)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb.

    Returns:
        0: success. 1: `evaluate` could not compute a cell. 2: a bad input, or a file that cannot be read or written.
        70: an error nobody foresaw. 128 and a signal's number: stopped by it.
    """
    with prepared() as stop:
        try:
            code = _run(argv)
            sys.stdout.flush()
            return code
        except (SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a user of the command line never sees a traceback that was not asked for
            if os.environ.get(TRACEBACK):
                traceback.print_exc()
            return _failed(error, stop)
        finally:
            restore_threads()


def _run(argv: Sequence[str] | None) -> int:
    args = parser().parse_args(argv)
    set_numpy_threads(args)
    return int(args.run(args))


def _failed(error: BaseException, stop: Stop) -> int:
    """Say in one line what went wrong; gives the exit code."""
    if stop.numbers or isinstance(error, KeyboardInterrupt):  # packages turn an interrupted import into other errors
        number = stop.numbers[0] if stop.numbers else signal.SIGINT
        print(f"likewise: stopped by {signal.Signals(number).name}; no file is left half written", file=sys.stderr)
        return 128 + number
    if isinstance(error, BrokenPipeError):
        silence(sys.stdout)
        return 0
    if isinstance(error, LikewiseError | OSError):
        print(f"likewise: {error}", file=sys.stderr)
        return USER
    if isinstance(error, MemoryError):
        print(f"likewise: memory ran out ({error or 'no more is known'})", file=sys.stderr)
        return USER
    print(f"likewise: {_unforeseen(error)}", file=sys.stderr)
    return UNFORESEEN


def _unforeseen(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" ({Path(frame.filename).name}, line {frame.lineno})" for frame in place)
    first = next(iter(str(error).strip().splitlines()), "")
    return (
        f"an error that was not foreseen: {type(error).__name__}: {first[:LONGEST]}{where}. It is a fault of this "
        f"program or of a package it uses; set {TRACEBACK}=1 and run the command again to see the traceback"
    )
