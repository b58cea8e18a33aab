"""`likewise evaluate`: scores of models with confidence intervals, and tests of which model is better."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model_files.names import DEFAULT_MODEL
from ..runtime.atomic_files import check_writable_file
from .model_options import add_running, prepare_runtime
from .output import print_json
from .process import Terminated

if TYPE_CHECKING:
    from ..evaluate.results import Results
    from ..evaluate.runner import EvaluationProgress
    from ..evaluate.statistics.comparison import Comparison
    from ..evaluate.task import EvaluationSettings, Task

EXAMPLES = """examples:
  likewise evaluate all-MiniLM-L6-v2
  likewise evaluate all-MiniLM-L6-v2 ./my-model --tasks sts,trec --plot scores.png
  likewise evaluate ./before ./after --tasks stsb --compare
  likewise evaluate likewise-mini all-MiniLM-L6-v2 likewise-static --tasks all --compare
  likewise evaluate all-MiniLM-L6-v2 --data pairs.csv
  likewise evaluate --data faq.csv --columns anchor=question,positive=answer
  likewise evaluate --data rated.csv --columns sentence1=question,sentence2=answer,score=rating
  likewise evaluate all-MiniLM-L6-v2 --tasks supervised --faithful --json > scores.json
  likewise evaluate mine.models:encode --tasks stsb
  likewise evaluate --list

models:
  A MODEL is a folder, a bundled model, a model on the Hugging Face hub, or a form
  such as bert-cls(NAME), random(NAME), avg-glove or tf-idf (`likewise model list`
  lists them). package.module:function imports and runs your own code: a function
  that takes a list of texts and returns an array with one row per text, or an
  object with such an `encode` method.

your own data (--data):
  sentence1, sentence2, score      correlation of cosine with the scores
  sentence1, sentence2, label      1 or 0: average precision, best F1 and accuracy
  anchor, positive, negative       accuracy of triplets
  anchor, positive                 MRR@10 of finding the positive among all positives

cache:
  Data sets are read from the folder LIKEWISE_DATA. Vectors and results are stored
  in LIKEWISE_CACHE (default: the system's cache folder; at most 4 GB), so an
  interrupted run continues where it stopped. A changed model, setting, data set or
  version of this program is computed again, and so are results on your own data.

The exit code is 1 if a result could not be computed. A run that is ended early (Ctrl-C, SIGTERM) prints the results
that it has, and exits with 130 or 143."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb and its options."""
    parser = verbs.add_parser(
        "evaluate",
        description="Evaluates models on tasks or on your own data, and prints one table: scores with\n"
        "95 % confidence intervals, and a star where a model is significantly better than\n"
        "the next best one.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"models to evaluate (default: {DEFAULT_MODEL})")
    _add_data(parser.add_argument_group("what to evaluate on"))
    _add_settings(parser.add_argument_group("how to evaluate"))
    _add_output(parser.add_argument_group("output"))
    add_running(parser.add_argument_group("how models run"))
    parser.set_defaults(run=run)


def _add_data(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--tasks",
        metavar="NAMES",
        help="tasks and suites, separated by commas: sts, supervised, probing, all, or any name that --list prints "
        "(default: sts, or none with --data)",
    )
    group.add_argument(
        "--data",
        metavar="FILE",
        action="append",
        help="a .csv, .tsv, .jsonl or .parquet file with your own data; may be repeated",
    )
    group.add_argument(
        "--columns",
        metavar="NAME=COLUMN,…",
        help="names of the columns in --data, such as sentence1=question,sentence2=answer; score=rating/5 scales",
    )
    group.add_argument("--list", action="store_true", help="list all tasks by suite, and which data is missing")


def _add_settings(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--faithful",
        action="store_true",
        help="train classifiers with SentEval's own optimiser, one step after another (slow; default: in batches)",
    )
    group.add_argument("--seed", type=int, metavar="N", help="random seed of folds and classifiers (default: 1111)")
    group.add_argument("--lowercase", action="store_true", help="lower-case the texts of pairs, as SentEval does")
    group.add_argument(
        "--resamples", type=int, default=10_000, metavar="N", help="bootstrap resamples per interval (default: 10000)"
    )
    group.add_argument("--fresh", action="store_true", help="compute everything again and replace it in the cache")
    group.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")


def _add_output(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--compare", action="store_true", help="compare the first model with each other one task by task, with tests"
    )
    group.add_argument("--published", action="store_true", help="also print the scores published in papers")
    group.add_argument("--plot", type=Path, metavar="FILE", help="draw the scores into a .png, .pdf or .svg file")
    form = group.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all results as JSON")
    form.add_argument("--csv", action="store_true", help="print every score as CSV")
    form.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    group.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run(args: argparse.Namespace) -> int:
    """Evaluate and print; returns 0, 1 if a result is missing, or 130 if interrupted, with what is finished printed."""
    if args.list:
        return _list_tasks(args.json)
    tasks = _checked_tasks(args)
    from ..evaluate.runner import evaluate
    from ..model_names import load_model
    from ..runtime.progress import StatusLine, format_duration

    prepare_runtime(args)
    line, start = StatusLine(), time.perf_counter()
    reached: list[EvaluationProgress] = []

    def report(progress: "EvaluationProgress") -> None:
        reached[:] = [progress]
        if not args.quiet:
            line(progress)

    try:
        results = evaluate(
            args.models or [DEFAULT_MODEL],
            tasks,
            settings=_settings(args),
            cache=_cache(args),
            load=lambda name: load_model(
                name, precision=args.precision, device=args.device, max_seq_length=args.max_seq_length
            ),
            callback=report,
        )
    except (KeyboardInterrupt, Terminated) as ended:
        if line.wrote:
            print(file=sys.stderr)
        _show_finished(reached[0].so_far() if reached else None, args)
        if isinstance(ended, Terminated):
            raise
        return 128 + signal.SIGINT
    cached = sum(cell.cached for cell in results.cells.values())
    duration = format_duration(time.perf_counter() - start)
    line.close(f"{len(results.cells)} of {len(results.cells)} in {duration}, {cached} from the cache")
    print_results(results, args)
    if args.plot:
        _plot(results, args.plot)
    return 1 if results.failed else 0


def _show_finished(so_far: "Results | None", args: argparse.Namespace) -> None:
    """Of a run that was ended: the results that there are, and what became of them."""
    if so_far is not None and len(so_far.failed) < len(so_far.cells):
        print_results(so_far, args)
    stored = "nothing was stored" if args.no_cache else "finished work is stored; the same command continues there"
    print(f"likewise: interrupted; {stored}", file=sys.stderr)


def print_results(results: "Results", args: argparse.Namespace) -> None:
    """Print the results in the requested format."""
    from ..evaluate.reports import report

    first, *others = results.models
    comparisons = {other: report.compare_two(results, first, other) for other in others or [first] if args.compare}
    if args.json:
        print_json({**results.as_dict(), **_compared(comparisons)})
    elif args.csv:
        print(report.format_csv(results), end="")
    elif args.markdown:
        print(report.format_markdown(results), end="")
    else:
        width, bold = _terminal()
        print(report.format_report(results, width=width, bold=bold, published=args.published))
        for other, compared in comparisons.items():
            print("\n" + report.comparison_lines(results, first, other, compared, width=width))
        if comparisons:
            print("\n" + report.comparison_method(results, width))


def _compared(comparisons: "Mapping[str, Mapping[str, Comparison]]") -> dict[str, Any]:
    """Of two models by task, `comparison`; of the first with each of more, by its name and by task, `comparisons`."""
    values = {other: {name: one.as_dict() for name, one in by_task.items()} for other, by_task in comparisons.items()}
    if len(values) > 1:
        return {"comparisons": values}
    return {"comparison": next(iter(values.values()))} if values else {}


def _checked_tasks(args: argparse.Namespace) -> "list[Task]":
    """The tasks, after checking everything that should not fail after an hour of computing."""
    from ..errors import BadInput
    from ..evaluate.own_data import data_task
    from ..evaluate.tasks.registry import select_tasks

    if args.columns and not args.data:
        raise BadInput("--columns renames columns of --data FILE, which was not given")
    names = args.tasks if args.tasks is not None or args.data else "sts"
    columns = args.columns.split(",") if args.columns else []
    tasks = [
        *(select_tasks(names) if names is not None else ()),
        *(data_task(file, columns) for file in args.data or ()),
    ]
    if args.compare and len(args.models) < 2:
        raise BadInput(f"--compare needs two models or more; {len(args.models)} given")
    if args.resamples < 100:
        raise BadInput(f"--resamples is {args.resamples}; expected 100 or more, for a 95 % interval")
    if args.plot:
        _plot_module().check_plot_path(args.plot)
        check_writable_file(args.plot)
    return tasks


def _settings(args: argparse.Namespace) -> "EvaluationSettings":
    from ..evaluate.task import EvaluationSettings

    seed = {} if args.seed is None else {"seed": args.seed}
    return EvaluationSettings(
        mode="faithful" if args.faithful else "fast", lowercase=args.lowercase, resamples=args.resamples, **seed
    )


def _cache(args: argparse.Namespace) -> Any:
    from ..evaluate.cache import Cache

    return None if args.no_cache else Cache.of_user(recompute=args.fresh)


def _plot(results: "Results", path: Path) -> None:
    _plot_module().draw_results(results, path)
    print(f"plot: {path}", file=sys.stderr)


def _plot_module() -> Any:
    from ..runtime.installation import missing_extra

    try:
        from ..evaluate.reports import plot
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise missing_extra("matplotlib", "map", "drawing plots") from None
    return plot


def _list_tasks(as_json: bool) -> int:
    """Print every task by suite, with the state of the data it reads."""
    from ..data.datasets import check_dataset
    from ..evaluate.tasks.registry import ALIASES, SUITES, TASKS

    states = {name: {file: check_dataset(file).state for file in task.data} for name, task in TASKS.items()}
    if as_json:
        rows = [{"task": n, "suite": t.suite, "summary": t.summary, "data": states[n]} for n, t in TASKS.items()]
        print(json.dumps(rows, indent=2))
        return 0
    for suite, names in SUITES.items():
        print(suite)
        for name in names:
            notes = [
                f"{file} {state}" for file, state in states[name].items() if state not in ("complete", "unchecked")
            ]
            print(f"  {name:22} {TASKS[name].summary}" + (f"  [{'; '.join(notes)}]" if notes else ""))
    for suite, names in ALIASES.items():
        print(f"{suite}\n  {', '.join(names)}")
    print("all\n  every task\n\nTo see what data is missing, and how to get it: likewise data")
    return 0


def _terminal() -> tuple[int, bool]:
    """The width to fill, and whether bold type is available."""
    import shutil

    terminal = sys.stdout.isatty()
    return (shutil.get_terminal_size().columns if terminal else 120), terminal
