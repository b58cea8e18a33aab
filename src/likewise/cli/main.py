"""`likewise VERB …`: finds the verb, runs it, and reports errors in one line."""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import LikewiseError
from .flag_messages import flag_messages
from .model_options import restore_threads, set_threads
from .parser import Entry, Parser, add_command, listing, nearest_word
from .process import Stop, prepared, silence

GROUPS = {
    "text": {
        "encode": Entry("encode.encode_command", "encode texts into a file of vectors, or into shards (resumable)"),
        "verify": Entry("encode.verify", "check a folder of vectors: files, checksums, and a sample of vectors"),
        "similarity": Entry("texts.similarity", "show how similar texts are to each other"),
        "pairs": Entry("texts.pairs", "find the most similar pairs of texts in a file"),
        "duplicates": Entry("texts.duplicates", "find identical and nearly identical texts, and remove copies"),
        "cluster": Entry("texts.cluster", "group similar texts, name the groups, and draw a map of them"),
        "explain": Entry("texts.explain", "show which words make two texts similar"),
        "calibrate": Entry("texts.calibrate", "measure how similar texts are by chance, for p-values and thresholds"),
    },
    "search": {
        "index": Entry("index", "keep an index of texts on disk: add files, delete, verify, copy, export"),
        "search": Entry("index.search", "search an index by meaning and by words, with filters and reranking"),
        "rerank": Entry("texts.rerank", "rank the documents in a file for a query, using a reranker"),
    },
    "models": {"model": Entry("models", "list, show, download, quantize or dissect models; choose or fuse layers")},
    "training": {
        "data": Entry("data", "list or show data sets, find test data in training data, mine hard negatives"),
        "train": Entry("train.command", "train a model on pairs, triplets or scores"),
        "evaluate": Entry("evaluate", "evaluate models on tasks or your own data, with significance tests"),
        "choose": Entry("choose", "choose among models, precisions and dimensions on your data, with a guarantee"),
    },
    "service": {
        "serve": Entry("serve", "serve models and indexes over HTTP (OpenAI, TEI, Cohere and Jina APIs)"),
        "doctor": Entry("doctor", "report versions, engines, CPU, memory, models and data"),
    },
}
"""Verbs by topic."""
VERBS = {name: entry for entries in GROUPS.values() for name, entry in entries.items()}

TRACEBACK = "LIKEWISE_TRACEBACK"
"""Environment variable; if it is set to any value, errors show their traceback."""
COMPLETION = "_ARGCOMPLETE"
"""Environment variable that a shell sets to request completions from argcomplete."""
USER_ERROR, UNEXPECTED_ERROR = 2, 70  # exit codes; 70 is EX_SOFTWARE in sysexits.h
MESSAGE_LENGTH = 300  # maximum characters shown from an unexpected error's message

EPILOG = """examples:
  likewise similarity "A cat sleeps." "A kitten naps." "Shares fell."
  likewise encode sentences.txt -o vectors.npy
  likewise pairs questions.csv --column title -k 20
  likewise duplicates questions.csv --column title -o distinct.csv
  likewise index add notes.index notes/    then: likewise search notes.index "how long do cats sleep"
  likewise cluster questions.csv --column title --map map.html
  likewise model show all-MiniLM-L6-v2

Each verb has its own help, with examples: likewise encode --help, or likewise help encode

The default model, likewise-mini, is bundled, runs without torch and needs no download. For better
results, install the package likewise-small and pass -m likewise-small. To use a published model:
likewise model download all-MiniLM-L6-v2, then -m all-MiniLM-L6-v2.

Tab completion in bash and zsh: pip install argcomplete, then add this line to the shell's startup file:
  eval "$(register-python-argcomplete likewise)"

Each error is one line; set LIKEWISE_TRACEBACK=1 to see tracebacks. Versions, engines and models: likewise doctor."""


def parser(verbs: Iterable[str] = VERBS, *, options: bool = True) -> argparse.ArgumentParser:
    """The parser for these verbs; without `options`, it accepts no verb, and its help lists all of them."""
    top = Parser(
        prog="likewise",
        description="Sentence embeddings: encode texts, compare them, find pairs, duplicates and clusters, evaluate "
        "and train models.",
        epilog=EPILOG,
    )
    top.add_argument("--version", nargs=0, action=_VersionAction, help="show the version and the commit, and exit")
    if not options:
        for group, entries in GROUPS.items():
            top.add_argument_group(group, listing(entries))
    subparsers = top.add_subparsers(metavar="VERB", help=argparse.SUPPRESS)
    for verb in verbs if options else ():
        add_command(subparsers, verb, VERBS[verb].module, __package__ or "")
    return top


class _VersionAction(argparse.Action):
    """Prints the version and commit; runs git only when requested, and only if needed."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from ..source_commit import commit_phrase, source_commit

        print(f"likewise {__version__} ({commit_phrase(source_commit())})")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb.

    Returns:
        0: success. 1: `evaluate` could not compute a result, `index add` could not read one of its files, or `doctor`
        found a problem. 2: bad input, or a file that cannot be read or written. 70: an unexpected error.
        128 plus a signal's number: stopped by that signal.
    """
    return exit_code(lambda: _run(sys.argv[1:] if argv is None else list(argv)))


def exit_code(command: Callable[[], int]) -> int:
    """Run a command as the main program: signals stop it cleanly; an error becomes one line and an exit code."""
    with prepared() as stop:
        try:
            code = command()
            sys.stdout.flush()
            return code
        except (SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # command-line users see a traceback only if they ask for one
            if os.environ.get(TRACEBACK):
                traceback.print_exc()
            return _report_error(error, stop)
        finally:
            restore_threads()


def _run(argv: list[str]) -> int:
    if COMPLETION in os.environ:
        with suppress(ImportError):
            from argcomplete import autocomplete

            autocomplete(parser())  # prints completions for the words typed so far, and exits
    if argv[:1] == ["--"]:
        argv = argv[1:]
    if argv[:1] == ["help"]:
        argv = [*argv[1:], "--help"]
    verb = argv[0] if argv else ""
    if verb in VERBS:
        args = parser([verb]).parse_args(argv)
        with flag_messages(args.flags):
            set_threads(args)
            return int(args.run(args))
    top = parser(options=False)
    if not argv:
        top.print_help(sys.stderr)
        return USER_ERROR
    if verb and not verb.startswith("-"):
        nearest = nearest_word(verb, [*VERBS, "help"])
        hint = f"; did you mean: likewise {nearest}?" if nearest else ""
        top.error(f"unknown verb {verb!r}{hint}\nAll verbs: likewise --help")
    top.parse_args(argv)
    raise AssertionError("argparse accepted a command without a verb")


def _report_error(error: BaseException, stop: Stop) -> int:
    if stop.numbers or isinstance(error, KeyboardInterrupt):  # packages turn an interrupted import into other errors
        number = stop.numbers[0] if stop.numbers else signal.SIGINT
        print(f"likewise: stopped by {signal.Signals(number).name}; no half-written file remains", file=sys.stderr)
        return 128 + number
    if isinstance(error, BrokenPipeError):
        silence(sys.stdout)
        return 0
    if isinstance(error, LikewiseError | OSError):
        print(f"likewise: {error}", file=sys.stderr)
        return USER_ERROR
    if isinstance(error, MemoryError):
        print(f"likewise: out of memory ({str(error) or 'no details available'})", file=sys.stderr)
        return USER_ERROR
    print(f"likewise: {_unexpected(error)}", file=sys.stderr)
    return UNEXPECTED_ERROR


def _unexpected(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" ({Path(frame.filename).name}, line {frame.lineno})" for frame in frames)
    first = next(iter(str(error).strip().splitlines()), "")
    return (
        f"unexpected error: {type(error).__name__}: {first[:MESSAGE_LENGTH]}{where}. This is a bug in likewise or in a "
        f"package it uses; run the command again with {TRACEBACK}=1 to see the traceback"
    )
