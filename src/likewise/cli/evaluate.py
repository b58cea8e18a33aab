"""`likewise evaluate`: how good models are, how sure one may be of it, and which of two is better."""

import argparse
import json
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model_files.names import DEFAULT_MODEL
from ..runtime.atomic_files import check_writable_file
from .model_options import add_running, prepare_runtime
from .output import print_json

if TYPE_CHECKING:
    from ..evaluate.results import Results

EXAMPLES = """examples:
  likewise evaluate all-MiniLM-L6-v2
  likewise evaluate all-MiniLM-L6-v2 ./my-model --tasks sts,trec --plot scores.png
  likewise evaluate ./before ./after --tasks stsb --compare
  likewise evaluate all-MiniLM-L6-v2 --tasks senteval --faithful --json > scores.json
  likewise evaluate mine.models:encode --tasks stsb
  likewise evaluate --list

A MODEL is a folder, a carried model, a hub name or a form such as bert-cls(NAME), random(NAME), avg-glove and tf-idf
(`likewise models` lists them); or package.module:function, which imports and runs your own code:
a function of a list of texts that gives an array with a row for each, or an object with such an `encode`.

Data is found through LIKEWISE_DATA. Vectors and results are kept in LIKEWISE_CACHE (or this system's folder for
caches, 4 GB at most), so that a run that was stopped goes on where it was; another model, setting, copy of the data
or version of this program is computed anew. The exit code is 1 where a cell could not be computed."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "evaluate",
        help="how good models are, with intervals and tests",
        description="Runs tasks on models and shows one table: figures with 95 % intervals, and a star where a model "
        "is better than the next best one beyond chance.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"what is to be measured ({DEFAULT_MODEL})")
    parser.add_argument("--tasks", default="sts", metavar="NAMES", help="tasks and suites with commas, or all (sts)")
    parser.add_argument("--list", action="store_true", help="list the tasks, and which of their data is at hand")
    how = parser.add_argument_group("how")
    how.add_argument("--faithful", action="store_true", help="SentEval's own optimiser, step by step (slow)")
    how.add_argument("--seed", type=int, help="of folds and classifiers (1111, SentEval's)")
    how.add_argument("--lowercase", action="store_true", help="lower-case STS texts, as SentEval does")
    how.add_argument("--resamples", type=int, default=10_000, metavar="N", help="of each bootstrap (%(default)s)")
    how.add_argument("--fresh", action="store_true", help="compute again what is kept")
    how.add_argument("--no-cache", action="store_true", help="read and keep nothing")
    print_results = parser.add_argument_group("what is shown")
    print_results.add_argument("--compare", action="store_true", help="two models task by task, with tests")
    print_results.add_argument("--published", action="store_true", help="the figures of the papers too")
    print_results.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures (.png, .pdf, .svg)")
    form = print_results.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument("--csv", action="store_true", help="print every score as CSV")
    form.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    print_results.add_argument("-q", "--quiet", action="store_true", help="no progress")
    add_running(parser.add_argument_group("every model"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Evaluates and shows; 0 where all is there, 1 where a cell is missing, 130 when stopped."""
    if args.list:
        return _list(args.json)
    _check(args)
    from ..evaluate.runner import evaluate
    from ..evaluate.task import EvaluationSettings
    from ..model_names import load_model
    from ..runtime.progress import StatusLine, format_duration

    settings = EvaluationSettings(mode="faithful" if args.faithful else "fast", lowercase=args.lowercase)
    if args.seed is not None:
        settings = EvaluationSettings(settings.mode, args.seed, args.lowercase)
    prepare_runtime(args)
    line, began = StatusLine(), time.perf_counter()
    try:
        found = evaluate(
            args.models or [DEFAULT_MODEL],
            args.tasks,
            settings=settings,
            resamples=args.resamples,
            cache=_cache(args),
            fresh=args.fresh,
            load=lambda name: load_model(
                name, precision=args.precision, device=args.device, max_length=args.max_length
            ),
            watch=None if args.quiet else line,
        )
    except KeyboardInterrupt:
        kept = "nothing was kept" if args.no_cache else "what was computed is kept, and the same command goes on there"
        print(f"\nlikewise: stopped; {kept}", file=sys.stderr)
        return 128 + signal.SIGINT
    old = sum(cell.kept for cell in found.cells.values())
    took = format_duration(time.perf_counter() - began)
    line.close(f"{len(found.cells)} of {len(found.cells)} in {took}, {old} kept from before")
    print_results(found, args)
    return 1 if found.failed else 0


def print_results(found: "Results", args: argparse.Namespace) -> None:
    """Prints what was asked for, and draws it."""
    from ..evaluate.reports.report import compare_two, comparison_lines, format_csv, format_markdown, format_report

    ours, theirs = found.models[0], found.models[-1]
    compared = compare_two(found, ours, theirs) if args.compare else {}
    if args.json:
        told = found.as_dict()
        if args.compare:
            told["comparison"] = {name: one.as_dict() for name, one in compared.items()}
        print_json(told)
    elif args.csv:
        print(format_csv(found), end="")
    elif args.markdown:
        print(format_markdown(found), end="")
    else:
        width, bold = _screen()
        print(format_report(found, width=width, bold=bold, published=args.published))
        if args.compare:
            print("\n" + comparison_lines(found, ours, theirs, compared, width=width))
    if args.plot:
        _draw(found, args.plot)


def _check(args: argparse.Namespace) -> None:
    """What would be a pity to learn after an hour."""
    from ..errors import BadInput
    from ..evaluate.tasks.registry import select_tasks

    select_tasks(args.tasks)
    if args.compare and len(args.models) != 2:
        raise BadInput(f"--compare wants two models; there are {len(args.models)}")
    if args.resamples < 100:
        raise BadInput(f"--resamples is {args.resamples}; wanted 100 or more, for an interval of 95 %")
    if args.plot:
        _plot_module().check_plot_path(args.plot)
        check_writable_file(args.plot)


def _cache(args: argparse.Namespace) -> Any:
    from ..evaluate.cache import Cache

    return None if args.no_cache else Cache.of_user()


def _draw(found: "Results", path: Path) -> None:
    _plot_module().draw_results(found, path)
    print(f"drawn: {path}", file=sys.stderr)


def _plot_module() -> Any:
    from ..runtime.installation import missing_extra

    try:
        from ..evaluate.reports import plot
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise missing_extra("matplotlib", "map", "drawing pictures") from None
    return plot


def _list(as_json: bool) -> int:
    """Every task, by suite, with what it reads."""
    from ..data.datasets import check_dataset
    from ..evaluate.tasks.registry import SUITES, TASKS

    states = {name: {one: check_dataset(one).state for one in task.data} for name, task in TASKS.items()}
    if as_json:
        rows = [{"task": n, "suite": t.suite, "summary": t.summary, "data": states[n]} for n, t in TASKS.items()]
        print(json.dumps(rows, indent=2))
        return 0
    for suite, names in SUITES.items():
        print(suite)
        for name in names:
            gone = [f"{one} {state}" for one, state in states[name].items() if state not in ("complete", "unchecked")]
            print(f"  {name:22} {TASKS[name].summary}" + (f"  [{'; '.join(gone)}]" if gone else ""))
    print("\nWhat is missing, and how to get it: likewise data")
    return 0


def _screen() -> tuple[int, bool]:
    """The width to fill, and whether there is bold type."""
    import shutil

    live = sys.stdout.isatty()
    return (shutil.get_terminal_size().columns if live else 120), live
