"""`python -m papers`: measures the tables of Sentence-BERT and SBERT-WK here and compares the papers' figures."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from likewise.cli.main import exit_code
from likewise.cli.model_options import output_folder
from likewise.cli.output import print_json
from likewise.cli.parser import Parser
from likewise.runtime.atomic_files import check_writable_folder
from likewise.runtime.lazy_imports import require_torch
from likewise.runtime.progress import StatusLine, format_duration
from likewise.wording import counted

EXAMPLES = """examples:
  python -m papers --list
  python -m papers sbert-1 --quick
  python -m papers sbert-1 sbert-2 --seeds 5 --output tables/
  python -m papers all --quick --output tables/
  python -m papers sbert-1 --model bert-base-uncased
  python -m papers sbert-wk --json > sbert-wk.json

Each row is a system on a model: its figures with 95 % intervals, the paper's row it is compared with, and a verdict:
within noise, better, worse, or not comparable, with the reason (another backbone, less data). The papers' own claims
(training beats averaging, …) are tested on the same figures.

Data sets are read from the folder LIKEWISE_DATA (likewise data list). Every finished experiment is stored in
OUTPUT/ledger.jsonl at once: the same command resumes where it stopped, and recomputes only what changed. For each
table, OUTPUT contains NAME.md, NAME.json and the plot for light and dark
pages, NAME.svg and NAME-dark.svg.

The exit code is 1 if something could not be measured here; the page says what and why."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = Parser(
        prog="python -m papers",
        description="Measures the tables of Sentence-BERT and SBERT-WK with the local models and data, and writes "
        "them next to the papers' figures, with verdicts.",
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    add("tables", nargs="*", metavar="TABLE", help="sbert-1 … sbert-7, sbert-wk, or all (--list describes them)")
    add("--list", action="store_true", help="list the tables, one per line")
    add(
        "--model",
        action="append",
        default=[],
        metavar="NAME",
        help="a backbone to use in place of the local ones; may be repeated. Figures are comparable only with the "
        "papers' own backbone (bert-base-uncased)",
    )
    add(
        "--seeds",
        type=int,
        default=3,
        metavar="N",
        help="number of seeds for every trained system (default: %(default)s)",
    )
    add("--quick", action="store_true", help="use fewer rows and steps and train one backbone: all tables in an hour")
    add("--quick-training", action="store_true", help="reduce only the training in the same way; use all test data")
    add(
        "-o",
        "--output",
        type=output_folder,
        default=Path("reproduced"),
        metavar="FOLDER",
        help="folder for the ledger, pages and plots (default: %(default)s)",
    )
    add(
        "--runs",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a .jsonl list of finished training runs, as written by recipes; these also become rows",
    )
    add("--json", action="store_true", help="print the results as JSON and all other output to stderr")
    add("-q", "--quiet", action="store_true", help="show no progress")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the tables and write them; return 0, 1 if something is missing, or 130 if interrupted."""
    return exit_code(lambda: _run(parser().parse_args(argv)))


def _run(args: argparse.Namespace) -> int:
    if args.list:
        return _list_tables(args.json)
    _check(args)
    from .reproduction import local_effort, reproduce_tables
    from .tables.paper_tables import select_tables

    tables, line, start = select_tables(args.tables), StatusLine(), time.perf_counter()
    effort = local_effort(args.model, args.seeds, quick=args.quick, quick_training=args.quick_training)
    try:
        callback = None if args.quiet else line
        results = reproduce_tables(tables, effort, args.output, runs=args.runs, callback=callback)
    except KeyboardInterrupt:
        print("\nlikewise: interrupted; finished work is stored, and the same command resumes from it", file=sys.stderr)
        return 128 + signal.SIGINT
    line.close(f"{counted(len(tables), 'table')} in {format_duration(time.perf_counter() - start)}")
    _print_results(results, args)
    return 1 if any(one["missing"] for one in results.values()) else 0


def _check(args: argparse.Namespace) -> None:
    """Check early everything that should not fail after hours of computing."""
    from likewise.errors import BadInput

    if args.seeds < 1:
        raise BadInput(f"--seeds is {args.seeds}; expected 1 or more")
    for path in args.runs:
        if not path.is_file():
            raise BadInput(f"--runs {path} is not a file; expected a list of runs, as written by a recipe's --record")
    require_torch("python -m papers")
    check_writable_folder(args.output)


def _list_tables(as_json: bool) -> int:
    from .tables.paper_tables import PAPER_TABLES

    if as_json:
        keys = ("title", "citation", "protocol")
        print_json({name: {key: getattr(table, key) for key in keys} for name, table in PAPER_TABLES.items()})
        return 0
    for name, table in PAPER_TABLES.items():
        print(f"{name:9} {table.title.partition(': ')[2]}: {counted(len(table.systems), 'system')}")
    return 0


def _print_results(results: dict[str, dict[str, Any]], args: argparse.Namespace) -> None:
    """Print the results as JSON, or the files written; to stderr, each reason why something is missing, once."""
    reasons = [row["why"] for one in results.values() for row in one["missing"]]
    for reason in dict.fromkeys(reasons):
        print(f"likewise: note: {reason}", file=sys.stderr)
    if args.json:
        print_json(results)
        return
    for name, one in results.items():
        missing = f", {counted(len(one['missing']), 'row')} not measured" if one["missing"] else ""
        print(f"{args.output / name}.md: {counted(len(one['rows']), 'row')}{missing}")


if __name__ == "__main__":
    sys.exit(main())
