"""`likewise VERB …`: finds the verb, runs it, and turns errors into one line."""

import argparse
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .. import __version__
from ..errors import LikewiseError
from .model import restore_threads, set_numpy_threads

VERBS = (
    "encode",
    "similarity",
    "models",
    "download",
    "info",
    "rerank",
    "dissect",
    "fuse",
    "mine",
    "train",
    "evaluate",
    "data",
)

EXAMPLES = """examples:
  likewise similarity "A cat sleeps." "A kitten naps." "Shares fell."
  likewise encode sentences.txt -o vectors.npy
  likewise encode reviews.csv --column body -o vectors.parquet --overflow mean
  cat lines | likewise encode - -o vectors.jsonl
  likewise info all-MiniLM-L6-v2

Each verb tells more: likewise encode --help"""


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
    for verb in VERBS:
        import_module(f".{verb}", __package__).add(verbs)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb; 0 is success, 2 a bad input, 130 an interruption."""
    args = parser().parse_args(argv)
    warnings.showwarning = _note  # type: ignore[assignment]
    try:
        set_numpy_threads(args)
        return int(args.run(args))
    except KeyboardInterrupt:
        print("likewise: stopped; nothing was written", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the interpreter's own flush is silent
        return 0
    except (LikewiseError, OSError) as error:
        print(f"likewise: {error}", file=sys.stderr)
        return 2
    finally:
        restore_threads()


def _note(message: Warning | str, category: type[Warning], *where: Any) -> None:  # noqa: ARG001
    print(f"likewise: note: {message}", file=sys.stderr)
