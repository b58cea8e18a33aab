"""Chooses among models, precisions, dimensions and hybrid weights on your own data, and stops as soon as one candidate
has been shown to be the best, or close enough to the best.
"""

import argparse
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine_registry import PRECISIONS
from ..errors import BadInput
from ..runtime.atomic_files import check_new_file
from ..runtime.plot_style import PICTURES
from .evaluate import PLOT
from .model_options import add_threads, prepare_runtime
from .output import note, plot_module, print_json
from .parser import options

if TYPE_CHECKING:
    from ..evaluate.choice import Choice

EPILOG = """examples:
  likewise choose likewise-mini likewise-static --data faq.csv --columns anchor=question,positive=answer
  likewise choose all-MiniLM-L6-v2 --precision fp32,int8 --truncate-dim 384,192,96 --data triplets.csv
  likewise choose likewise-mini all-MiniLM-L6-v2 --corpus docs.jsonl --queries queries.jsonl --qrels qrels.tsv
  likewise choose likewise-mini --corpus beir/scifact --hybrid 0.3,0.5,0.7,1 --margin 0.05 --plot race.png
  likewise choose likewise-mini 'likewise-mini(pooling=mean:layers=4+5)' --data pairs.csv --json

candidates:
  Each MODEL with each value of --precision, --truncate-dim and --hybrid. Dimensions and hybrid weights reuse the same
  vectors, so they need no further encoding. Options in parentheses create more candidates from a model: pooling
  (layers), max_seq_length, and others (`likewise encode --help`).

data:
  anchor, positive, negative       accuracy on triplets
  anchor, positive                 reciprocal rank of the positive among all positives
  sentence1, sentence2, label      two rows: does the one with label 1 have the higher cosine (AUC)?
  sentence1, sentence2, score      two rows: does the one with the higher score have the higher cosine?
  --corpus, --queries, --qrels     nDCG@10 of each query; --corpus FOLDER reads the BEIR format

what it guarantees:
  Items are drawn in a random order. A winner, or a leader that no remaining candidate beats by --margin or more, is
  wrong with a probability of at most --alpha, even though the data is examined repeatedly. All intervals are also
  valid at any time. Nothing more is encoded for candidates that have lost. With --corpus, each model encodes all
  documents once, so only judged queries are saved.

The exit code is 1 if the choice is undecided."""


def add(parser: argparse.ArgumentParser) -> None:
    options(parser)("MODEL", "models to choose from", dest="models", nargs="+")
    add = options(parser, "candidates")
    add("--precision NAMES", f"number formats to try, separated by commas: {', '.join(PRECISIONS)}")
    add("--truncate-dim DIMS", "numbers of dimensions to try, separated by commas (default: all dimensions)")
    weights = "weights of vectors to try, relative to words (BM25), such as 0.5,1 (default: vectors only)"
    add("--hybrid WEIGHTS", weights)
    add = options(parser, "data")
    add("--data FILE", "a .csv, .tsv, .jsonl or .parquet file, or the name of a data set")
    add("--columns NAME=COLUMN,…", "which columns of --data to use, such as anchor=question,positive=answer")
    add("--corpus FILE", "documents to search: a file, or a folder in BEIR format")
    add("--queries FILE", "queries for --corpus")
    add("--qrels FILE", "relevance judgements for --corpus")
    add = options(parser, "when to stop")
    add("--margin X", "difference in score that you consider negligible, as a fraction of 1", 0.01)
    add("--alpha X", "probability of a false winner or tie", 0.05)
    add("--seed N", "seed for the order of the items", 0)
    add = options(parser, "output")
    add("--plot FILE", "plot the scores in a .png, .pdf or .svg file", type=Path)
    add("--json", "print the result as JSON")
    add("-q --quiet", "show no progress")
    add = options(parser, "how models run")
    add("--device DEVICE", "device to run on: cpu, cuda, cuda:1, mps, … (default: the first GPU, else the CPU)")
    add_threads(add)


def run(args: argparse.Namespace) -> int:
    """Choose and print; returns 0, or 1 if undecided."""
    from ..evaluate.choice import Variations, choose
    from ..evaluate.race import StoppingRule

    variations, rule = Variations(**_lists(args)), StoppingRule(args.margin, args.alpha, args.seed)
    _check_data_options(args)
    if args.plot:
        plot_module(PLOT)
        check_new_file(args.plot, PICTURES)
    from ..evaluate.collection import read_collection
    from ..model_names import load_named_embedder
    from ..runtime.progress import StatusLine

    prepare_runtime(args)
    data = args.data if args.corpus is None else read_collection(args.corpus, args.queries, args.qrels)
    line = StatusLine()
    choice = choose(
        args.models,
        data,
        args.columns.split(",") if args.columns else None,
        variations=variations,
        rule=rule,
        load=lambda name, precision: load_named_embedder(name, precision=precision, device=args.device),
        callback=None if args.quiet else line,
    )
    line.close("")
    if args.json:
        print_json(_as_json(choice))
    else:
        from ..evaluate.reports.choice_report import format_choice

        print(format_choice(choice))
    if args.plot:
        plot_module(PLOT).draw_choice(choice, args.plot)
        note(f"plot: {args.plot}")
    return int(choice.verdict == "undecided")


def _as_json(choice: "Choice") -> dict[str, Any]:
    """The result as plain values; as in the report, an undecided choice has a leader, and nothing is chosen."""
    best, *others = ({"name": one.candidate.name, **asdict(one)} for one in choice.entrants)
    best["state"] = "leads" if choice.verdict == "undecided" else "chosen"
    return {**asdict(choice), "best": choice.best.name, "entrants": [best, *others]}


def _check_data_options(args: argparse.Namespace) -> None:
    if (args.data is None) == (args.corpus is None):
        raise BadInput("expected either --data FILE or --corpus FILE")
    for name, needed in (("columns", "data"), ("queries", "corpus"), ("qrels", "corpus")):
        if getattr(args, name) is not None and getattr(args, needed) is None:
            raise BadInput(f"--{name} requires --{needed} FILE, which was not given")


def _lists(args: argparse.Namespace) -> dict[str, list[Any]]:
    types: dict[str, Callable[[str], Any]] = {"precision": str, "truncate_dim": int, "hybrid": float}
    lists = {}
    for name, of in types.items():
        if given := getattr(args, name):
            try:
                lists[name] = [of(value.strip()) for value in given.split(",")]
            except ValueError:
                flag = f"--{name.replace('_', '-')}"
                raise BadInput(f"{flag} is {given!r}; expected numbers separated by commas") from None
    if unknown := [one for one in lists.get("precision", []) if one not in PRECISIONS]:
        raise BadInput(f"--precision {unknown[0]} is unknown; expected some of {', '.join(PRECISIONS)}")
    return lists
